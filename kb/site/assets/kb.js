/* Lists that sort, filter and compare, and small comforts. Every page reads well without this script. Reads text, never writes markup. */
(function () {
  "use strict";
  var base = document.currentScript.src.replace(/[^/]*$/, "");

  function element(name, properties, children) {
    var made = document.createElement(name);
    Object.keys(properties || {}).forEach(function (key) {
      if (key in made && key !== "list") made[key] = properties[key]; else made.setAttribute(key, properties[key]);
    });
    (children || []).forEach(function (child) { made.append(child); });
    return made;
  }

  /* What is chosen on a page stands in its address, behind `#?`, so that it can be sent and Back brings it again. */
  var state = new URLSearchParams(location.hash.slice(0, 2) === "#?" ? location.hash.slice(2) : "");
  function remember(key, value) {
    if (value) state.set(key, value); else state.delete(key);
    var text = state.toString();
    try { history.replaceState(null, "", text ? "#?" + text : location.pathname + location.search); } catch (error) { location.hash = text ? "?" + text : ""; }
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

  var FIGURE = /^([^<>=]+)(<=|>=|<|>|=)(-?[\d.]+(?:e-?\d+)?)%?$/i;
  var HOLDS = {
    "<": function (a, b) { return a < b; }, ">": function (a, b) { return a > b; }, "=": function (a, b) { return a === b; },
    "<=": function (a, b) { return a <= b; }, ">=": function (a, b) { return a >= b; }
  };

  function enliven(list, place) {
    var suffix = place ? "." + place : "";
    var table = list.querySelector("table"), body = table.tBodies[0];
    var rows = Array.from(body.rows), heads = Array.from(table.tHead.rows[0].cells);
    var titles = heads.map(function (head) { return head.textContent; });
    var texts = rows.map(function (row) { return row.textContent.toLowerCase(); });
    var noun = list.getAttribute("data-kb-noun");
    var data = list.hasAttribute("data-kb-kind") && document.getElementById("kb-runs");
    var runs = data ? JSON.parse(data.textContent) : null;
    var menus = [], picked = new Set((state.get("pick" + suffix) || "").split("|").filter(Boolean));
    var words = element("input", { type: "search", placeholder: "Filter " + noun, "aria-label": "Filter " + noun, spellcheck: false, value: state.get("q" + suffix) || "" });
    var count = element("output", { "aria-live": "polite" });

    function figureOf(row, name) {
      var known = runs && runs[row.getAttribute("data-kb-id")];
      if (known) for (var metric in known.numbers) if (metric.toLowerCase() === name) return known.numbers[metric];
      var column = titles.findIndex(function (t, n) { return heads[n].getAttribute("data-kb-kind") === "number" && t.toLowerCase() === name; });
      var value = column < 0 ? "" : valueOf(row, column);
      return value === "" ? undefined : Number(value) * (/^vs |change/.test(name) ? 100 : 1);
    }

    function knows(name) {
      return titles.some(function (t, n) { return heads[n].getAttribute("data-kb-kind") === "number" && t.toLowerCase() === name; }) ||
        Object.keys(runs || {}).some(function (id) { return Object.keys(runs[id].numbers).some(function (m) { return m.toLowerCase() === name; }); });
    }

    function show() {
      var wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean), shown = 0;
      var tests = wanted.map(function (word) {
        var figure = FIGURE.exec(word);
        if (!figure || !knows(figure[1])) return function (row, n) { return texts[n].includes(word); };
        return function (row) { var value = figureOf(row, figure[1]); return value !== undefined && HOLDS[figure[2]](value, Number(figure[3])); };
      });
      rows.forEach(function (row, n) {
        var fits = tests.every(function (test) { return test(row, n); }) &&
          menus.every(function (m) { return !m.select.value || valueOf(row, m.column) === m.select.value.slice(1); });
        row.hidden = !fits;
        shown += fits ? 1 : 0;
      });
      count.textContent = (shown === rows.length ? "" : shown + " of ") + rows.length + " " + noun;
      remember("q" + suffix, words.value.trim());
      menus.forEach(function (m) { remember(m.title + suffix, m.select.value.slice(1)); });
    }

    function sort(column, up) {
      heads.forEach(function (h) { h.removeAttribute("aria-sort"); });
      heads[column].setAttribute("aria-sort", up ? "ascending" : "descending");
      rows.slice().sort(function (a, b) {
        return compared(valueOf(a, column), valueOf(b, column), heads[column].getAttribute("data-kb-kind"), up ? 1 : -1);
      }).forEach(function (row) { body.append(row); });
      remember("sort" + suffix, (up ? "" : "-") + titles[column]);
    }

    heads.forEach(function (head, column) {
      var title = titles[column];
      var button = element("button", { type: "button", textContent: title, title: "Sort by " + title });
      button.addEventListener("click", function () { sort(column, head.getAttribute("aria-sort") !== "ascending"); });
      head.textContent = "";
      head.append(button);
      if (head.getAttribute("data-kb-kind") !== "facet") return;
      var values = Array.from(new Set(rows.map(function (row) { return valueOf(row, column); }))).sort();
      if (values.length < 2 || values.length > 60) return;
      var any = element("option", { value: "", textContent: title + ": any" });
      var select = element("select", { "aria-label": title }, [any].concat(values.map(function (v) { return element("option", { value: "=" + v, textContent: v || "none" }); })));
      var kept = state.get(title + suffix);
      if (kept && values.includes(kept)) select.value = "=" + kept;
      select.addEventListener("change", show);
      menus.push({ select: select, column: column, title: title });
    });
    words.addEventListener("input", show);

    var tools = [words].concat(menus.map(function (m) { return m.select; }));
    var hidden = new Set(state.has("cols" + suffix) ? (state.get("cols" + suffix) || "").split("|") : titles.filter(function (t, n) { return heads[n].hasAttribute("data-kb-hidden"); }));
    function showColumns() {
      titles.forEach(function (t, n) {
        [table.tHead.rows[0]].concat(rows).forEach(function (row) { row.cells[n].classList.toggle("kb-gone", hidden.has(t)); });
      });
    }
    if (runs) {
      var boxes = titles.slice(1).map(function (t) {
        var box = element("input", { type: "checkbox", checked: !hidden.has(t) });
        box.addEventListener("change", function () {
          if (box.checked) hidden.delete(t); else hidden.add(t);
          remember("cols" + suffix, Array.from(hidden).join("|") || " ");
          showColumns();
        });
        return element("label", {}, [box, " " + t]);
      });
      tools.push(element("details", { className: "kb-columns-menu" }, [element("summary", { textContent: "Columns" }), element("div", {}, boxes)]));
      showColumns();
      var jump = pickable(table, rows, runs, picked, function () { remember("pick" + suffix, Array.from(picked).join("|")); });
      tools.push(jump);
      exported(rows, heads, titles);
    }
    tools.push(count);
    if (rows.length > 5) list.prepend(element("div", { className: "kb-tools" }, tools));
    var order = state.get("sort" + suffix), at = order ? titles.indexOf(order.replace(/^-/, "")) : -1;
    if (at >= 0) sort(at, order[0] !== "-");
    show();
  }

  /* Ticked runs side by side: what they set and what they measured, with the rows that differ marked. */
  function pickable(table, rows, runs, picked, changed) {
    var panel = document.getElementById("compare");
    var jump = element("button", { type: "button", className: "kb-way" });
    jump.addEventListener("click", function () { panel.scrollIntoView(); });
    function draw() {
      var chosen = Array.from(picked).filter(function (id) { return runs[id]; });
      panel.hidden = jump.hidden = chosen.length < 2;
      jump.textContent = "Compare " + chosen.length + " runs";
      panel.textContent = "";
      if (panel.hidden) return;
      var clear = element("button", { type: "button", className: "kb-way", textContent: "Clear" });
      clear.addEventListener("click", function () {
        picked.clear();
        table.querySelectorAll("input[type=checkbox]").forEach(function (box) { box.checked = false; });
        changed(); draw();
      });
      var head = element("tr", {}, [element("th", { scope: "col", textContent: "" })].concat(chosen.map(function (id) {
        var link = Array.from(rows).find(function (row) { return row.getAttribute("data-kb-id") === id; }).cells[0].querySelector("a");
        return element("th", { scope: "col" }, [element("a", { href: link.href, textContent: runs[id].title })]);
      })));
      var lines = [["verdict", chosen.map(function (id) { return runs[id].verdict; })]];
      ["settings", "metrics"].forEach(function (part) {
        var names = new Set();
        chosen.forEach(function (id) { Object.keys(runs[id][part]).forEach(function (n) { names.add(n); }); });
        names.forEach(function (n) { lines.push([n, chosen.map(function (id) { return runs[id][part][n] || ""; })]); });
      });
      var body = lines.map(function (line) {
        var differs = new Set(line[1]).size > 1;
        return element("tr", { className: differs ? "kb-differs" : "" }, [element("th", { scope: "row", textContent: line[0] })].concat(line[1].map(function (v) { return element("td", { textContent: v || "–" }); })));
      });
      panel.append(element("h2", { textContent: chosen.length + " runs side by side " }, [clear]),
        element("div", { className: "kb-scroll", tabIndex: 0 }, [element("table", { className: "kb-table" }, [element("thead", {}, [head]), element("tbody", {}, body)])]));
    }
    rows.forEach(function (row) {
      var id = row.getAttribute("data-kb-id");
      var box = element("input", { type: "checkbox", checked: picked.has(id), "aria-label": "Compare " + runs[id].title });
      box.addEventListener("change", function () { if (box.checked) picked.add(id); else picked.delete(id); changed(); draw(); });
      row.cells[0].prepend(box, " ");
    });
    draw();
    return jump;
  }

  function exported(rows, heads, titles) {
    var link = document.querySelector(".kb-csv");
    if (!link) return;
    var quoted = function (text) { return '"' + (/^[=+\-@\t\r]/.test(text) && isNaN(text) ? "'" : "") + text.replace(/"/g, '""') + '"'; };
    link.addEventListener("click", function (event) {
      if (rows.every(function (row) { return !row.hidden; })) return;
      event.preventDefault();
      var lines = [titles].concat(rows.filter(function (row) { return !row.hidden; }).map(function (row) { return titles.map(function (t, n) { return valueOf(row, n); }); }));
      var text = lines.map(function (line) { return line.map(quoted).join(","); }).join("\n") + "\n";
      var made = element("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: link.getAttribute("href") });
      made.click();
    });
  }

  /* The refuted explorer: levers by words and by target. */
  function explore(explorer) {
    var levers = Array.from(explorer.querySelectorAll(".kb-lever"));
    var texts = levers.map(function (lever) { return lever.textContent.toLowerCase(); });
    var targets = JSON.parse(explorer.getAttribute("data-kb-targets"));
    var words = element("input", { type: "search", placeholder: "Filter levers", "aria-label": "Filter levers", spellcheck: false, value: state.get("q") || "" });
    var any = element("option", { value: "", textContent: "Target: any" });
    var select = element("select", { "aria-label": "Target" }, [any].concat(targets.map(function (t) { return element("option", { value: t, textContent: t }); })));
    var count = element("output", { "aria-live": "polite" });
    select.value = targets.includes(state.get("target")) ? state.get("target") : "";
    function show() {
      var wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean), shown = 0;
      levers.forEach(function (lever, n) {
        var fits = wanted.every(function (w) { return texts[n].includes(w); }) && (!select.value || JSON.parse(lever.getAttribute("data-kb-targets")).includes(select.value));
        lever.hidden = !fits;
        shown += fits ? 1 : 0;
      });
      count.textContent = (shown === levers.length ? "" : shown + " of ") + levers.length + " levers";
      remember("q", words.value.trim());
      remember("target", select.value);
    }
    words.addEventListener("input", show);
    select.addEventListener("change", show);
    explorer.prepend(element("div", { className: "kb-tools" }, [words].concat(targets.length > 1 ? [select] : [], [count])));
    show();
  }

  /* The search comes with a script of its own, read when it is first wanted. */
  function openSearch() {
    if (window.kbOpenSearch) { window.kbOpenSearch(); return; }
    if (!document.querySelector("script[data-kb-search]")) document.head.append(element("script", { src: base + "search.js", "data-kb-search": "" }));
  }

  document.querySelectorAll(".kb-search-open").forEach(function (link) {
    link.setAttribute("role", "button");
    link.addEventListener("click", function (event) { event.preventDefault(); openSearch(); });
    link.addEventListener("keydown", function (event) { if (event.key === " ") { event.preventDefault(); openSearch(); } });
  });
  document.addEventListener("keydown", function (event) {
    var typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (!typing && !event.ctrlKey && !event.metaKey && !event.altKey && event.key === "/" || (event.ctrlKey || event.metaKey) && event.key === "k") { event.preventDefault(); openSearch(); }
  });

  document.querySelectorAll("[data-kb-copy]").forEach(function (code) {
    var button = element("button", { type: "button", className: "kb-copy", textContent: "Copy", "aria-label": "Copy the command" });
    button.addEventListener("click", function () {
      navigator.clipboard.writeText(code.textContent).then(function () { button.textContent = "Copied"; setTimeout(function () { button.textContent = "Copy"; }, 1500); });
    });
    code.after(" ", button);
  });

  /* A heading inside a folded section opens it. */
  function unfold() {
    var there = location.hash.length > 1 && location.hash[1] !== "?" && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!there) return;
    for (var fold = there.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    there.scrollIntoView();
  }
  window.addEventListener("hashchange", unfold);

  document.documentElement.classList.add("kb-scripted");
  document.querySelectorAll(".kb-list").forEach(enliven);
  document.querySelectorAll(".kb-explorer").forEach(explore);
  unfold();
})();
