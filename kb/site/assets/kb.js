/* Lists that sort and filter: a plain table without this script, a searchable one with it. Reads text, never writes markup. */
(function () {
  "use strict";

  function element(name, properties, children) {
    var made = document.createElement(name);
    Object.keys(properties || {}).forEach(function (key) {
      if (key in made) made[key] = properties[key]; else made.setAttribute(key, properties[key]);
    });
    (children || []).forEach(function (child) { made.append(child); });
    return made;
  }

  function valueOf(row, column) {
    var cell = row.cells[column];
    return cell.hasAttribute("data-kb-value") ? cell.getAttribute("data-kb-value") : cell.textContent.trim();
  }

  // Empty values stay last whichever way the column is sorted.
  function compared(a, b, kind, sign) {
    if (a === b) return 0;
    if (a === "") return 1;
    if (b === "") return -1;
    return sign * (kind === "number" ? Number(a) - Number(b) : a.localeCompare(b, "en", { numeric: true, sensitivity: "base" }));
  }

  function enliven(list) {
    var table = list.querySelector("table"), body = table.tBodies[0];
    var rows = Array.from(body.rows), heads = Array.from(table.tHead.rows[0].cells);
    var texts = rows.map(function (row) { return row.textContent.toLowerCase(); });
    var noun = list.getAttribute("data-kb-noun");
    var menus = [];
    var words = element("input", { type: "search", placeholder: "Filter " + noun, "aria-label": "Filter " + noun, spellcheck: false });
    var count = element("output", { "aria-live": "polite" });

    function show() {
      var wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean), shown = 0;
      rows.forEach(function (row, n) {
        var fits = wanted.every(function (w) { return texts[n].includes(w); }) &&
          menus.every(function (m) { return !m.select.value || valueOf(row, m.column) === m.select.value.slice(1); });
        row.hidden = !fits;
        shown += fits ? 1 : 0;
      });
      count.textContent = (shown === rows.length ? "" : shown + " of ") + rows.length + " " + noun;
    }

    function sort(head, column) {
      var up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach(function (h) { h.removeAttribute("aria-sort"); });
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      rows.slice().sort(function (a, b) {
        return compared(valueOf(a, column), valueOf(b, column), head.getAttribute("data-kb-kind"), up ? 1 : -1);
      }).forEach(function (row) { body.append(row); });
    }

    heads.forEach(function (head, column) {
      var title = head.textContent;
      var button = element("button", { type: "button", textContent: title, title: "Sort by " + title });
      button.addEventListener("click", function () { sort(head, column); });
      head.textContent = "";
      head.append(button);
      if (head.getAttribute("data-kb-kind") !== "facet") return;
      var values = Array.from(new Set(rows.map(function (row) { return valueOf(row, column); }))).sort();
      if (values.length < 2 || values.length > 60) return;
      var any = element("option", { value: "", textContent: title + ": any" });
      var select = element("select", { "aria-label": title }, [any].concat(values.map(function (v) { return element("option", { value: "=" + v, textContent: v || "none" }); })));
      select.addEventListener("change", show);
      menus.push({ select: select, column: column });
    });
    words.addEventListener("input", show);

    var scroll = element("div", { className: "kb-scroll" });
    list.append(scroll);
    scroll.append(table);
    if (rows.length > 5) list.prepend(element("div", { className: "kb-tools" }, [words].concat(menus.map(function (m) { return m.select; }), [count])));
    show();
  }

  document.querySelectorAll(".kb-list").forEach(enliven);
})();
