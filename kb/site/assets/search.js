/* The search: the list of pages is read when the dialog opens, the words and texts that a question needs when it is asked. Writes text, never markup. */
(function () {
  "use strict";
  var base = document.currentScript.src.replace(/kb-assets\/[^/]*$/, ""), BUCKETS = 128, TOGETHER = 48;
  var arrived = {}, waiting = {};
  window.kbSearch = function (name, text) {
    arrived[name] = JSON.parse(text);
    (waiting[name] || []).forEach(function (then) { then(arrived[name]); });
    delete waiting[name];
  };
  function fetched(name) {
    return new Promise(function (then) {
      if (arrived[name]) { then(arrived[name]); return; }
      if (waiting[name]) { waiting[name].push(then); return; }
      waiting[name] = [then];
      var script = document.createElement("script");
      script.src = base + "kb-search/" + name + ".js";
      // A bucket without words has no file.
      script.addEventListener("error", function () { window.kbSearch(name, "{}"); });
      document.head.append(script);
    });
  }

  /* Words as kb/text/words.py cuts them: parts of a name one by one, the name itself in one word, other scripts in pairs of signs. */
  var WHOLE = /[\p{L}\p{N}]+(?:[_=.\-:]+[\p{L}\p{N}]+)*/gu, PART = /[\p{L}\p{N}]+/gu;
  var UNSPACED = /[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f]+/gu;
  var BARRED = { "ł": "l", "đ": "d", "ø": "o", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe", "ß": "ss" };
  function folded(text) { return text.normalize("NFKD").replace(/(?![\u3099\u309a])\p{Mn}/gu, "").normalize("NFC").toLowerCase().replace(/[łđøħŧıæœß]/g, function (letter) { return BARRED[letter]; }); }
  function cut(text) {
    var words = [];
    (folded(text).match(WHOLE) || []).forEach(function (whole) {
      var parts = whole.match(PART);
      if (parts.length > 1) words.push({ text: parts.join(""), weight: 2, bonus: true });
      parts.forEach(function (part) {
        var rest = part.replace(UNSPACED, function (run) {
          for (var n = 0; n < Math.max(1, run.length - 1); n++) words.push({ text: run.slice(n, n + 2), weight: 1 });
          return " ";
        });
        rest.split(" ").forEach(function (word) {
          if (word) words.push({ text: word, weight: 1 });
          // Pages write 3,748 where people type 3748.
          if (/^\d{4,6}$/.test(word)) words.push({ text: word.slice(-3), weight: 1, bonus: true });
        });
      });
    });
    return words.slice(0, 24);
  }
  function bucketOf(word) {
    var signs = Array.from(word);
    return (signs[0].codePointAt(0) * 31 + (signs[1] ? signs[1].codePointAt(0) : 0)) % BUCKETS;
  }

  var pages = null, average = 1;
  function listed(rows) {
    if (pages) return;
    pages = rows.map(function (row) {
      return { place: row[0], title: row[1], type: row[2], target: row[3], verdict: row[4], length: row[6],
        head: new Set(cut2(row[1])), keys: new Set(cut2(row[5])) };
    });
    average = pages.reduce(function (sum, page) { return sum + page.length; }, 1) / (pages.length || 1);
  }
  // Names of a page, whole and in parts, without the weights of a question.
  function cut2(text) {
    if (/^[\x00-\x7f]*$/.test(text)) {
      var wholes = text.toLowerCase().match(/[a-z0-9]+(?:[_=.\-:]+[a-z0-9]+)*/g) || [], all = [];
      wholes.forEach(function (whole) {
        var parts = whole.split(/[_=.\-:]+/);
        if (parts.length > 1) all.push(parts.join(""));
        all.push.apply(all, parts);
      });
      return all;
    }
    return cut(text).map(function (word) { return word.text; });
  }

  function postings(written) {
    var found = [], pattern = /([0-9a-z]+)([A-Z])/g, step;
    while ((step = pattern.exec(written))) found.push([parseInt(step[1], 36), step[2].charCodeAt(0) - 64]);
    return found;
  }
  function isNear(a, b) {
    if (Math.abs(a.length - b.length) > 1 || a === b) return false;
    for (var n = 0; n < a.length && a[n] === b[n];) n++;
    return a.slice(n + 1) === b.slice(n + 1) || a.slice(n) === b.slice(n + 1) || a.slice(n + 1) === b.slice(n) ||
      a[n] === b[n + 1] && a[n + 1] === b[n] && a.slice(n + 2) === b.slice(n + 2);
  }

  /* BM25 over whole pages, with the words of title and names on top; a page that holds more of the words comes first. */
  function ranked(words, buckets) {
    var scores = new Float64Array(pages.length), held = new Float64Array(pages.length), asked = 0;
    words.forEach(function (word, at) {
      var known = buckets[at] || {}, exact = Object.hasOwn(known, word.text), isLast = at === words.length - 1;
      var forms = exact ? [[word.text, 1]] : [];
      if (word.text.length > 1 && !word.bonus && (isLast || !exact)) Object.keys(known).forEach(function (other) {
        if (other === word.text) return;
        if (isLast && other.startsWith(word.text)) forms.push([other, 0.5]);
        else if (!exact && word.text.length > 4 && isNear(word.text, other)) forms.push([other, 0.3]);
      });
      forms.sort(function (a, b) { return b[1] - a[1] || a[0].length - b[0].length; });
      var best = new Float64Array(pages.length), everywhere = new Set();
      forms.slice(0, 40).forEach(function (form) {
        var list = postings(known[form[0]]), rare = Math.log(1 + pages.length / (list.length + 0.5));
        list.forEach(function (hit) {
          var long = 0.4 + 0.6 * pages[hit[0]].length / average;
          best[hit[0]] = Math.max(best[hit[0]], form[1] * rare * 2.2 * hit[1] / (hit[1] + 1.2 * long));
          everywhere.add(hit[0]);
        });
      });
      var weight = Math.log(1 + pages.length / (everywhere.size + 0.5)), said = everywhere.size ? weight : 0;
      pages.forEach(function (page, n) {
        var named = page.head.has(word.text) ? 3 : page.keys.has(word.text) ? 2.2 : 0;
        if (!named && isLast && word.text.length > 2) {
          page.head.forEach(function (other) { if (!named && other.startsWith(word.text)) named = 1.2; });
        }
        if (named && !best[n]) weight = Math.max(weight, 1);
        if (named) said = weight;
        best[n] += named * weight;
      });
      // A word that stands on most pages, as those of a question do, says little where it is missing.
      if (!word.bonus) asked += said;
      best.forEach(function (score, n) { if (score) { scores[n] += word.weight * score; if (!word.bonus) held[n] += said; } });
    });
    var order = [];
    scores.forEach(function (score, n) { if (score) order.push([n, score * Math.pow(asked ? held[n] / asked : 1, 2)]); });
    return order.filter(function (hit) { return hit[1] > 0; }).sort(function (a, b) { return b[1] - a[1] || a[0] - b[0]; });
  }

  function element(name, properties, children) {
    var made = document.createElement(name);
    Object.keys(properties || {}).forEach(function (key) {
      if (key in made && key !== "list") made[key] = properties[key]; else made.setAttribute(key, properties[key]);
    });
    (children || []).forEach(function (child) { made.append(child); });
    return made;
  }

  /* The section of a page that says most of what was asked, and its words around the first of them. */
  function quoted(passages, words) {
    var best = null, most = -1;
    (passages || []).forEach(function (passage) {
      var text = folded(passage[1] + " " + passage[2]);
      var count = words.reduce(function (sum, word) { return sum + (word.bonus ? 0 : text.includes(word.text) ? 1 : 0); }, 0);
      if (count > most) { most = count; best = passage; }
    });
    return best;
  }
  function excerpt(text, words) {
    var flat = text.replace(/\]\([^()\s]*\)/g, "]").replace(/[|#*`>\[\]]+/g, " ").replace(/\s+/g, " ").trim(), low = flat.toLowerCase(), at = -1;
    words.forEach(function (word) { var here = low.indexOf(word.text); if (here >= 0 && (at < 0 || here < at)) at = here; });
    var start = at > 80 ? low.indexOf(" ", at - 70) + 1 : 0, shown = flat.slice(start, start + 190), parts = [];
    var sought = words.map(function (word) { return word.text; }).filter(function (w) { return w.length > 1; }).sort(function (a, b) { return b.length - a.length; });
    var pattern = sought.length && new RegExp("(" + sought.join("|") + ")", "giu");
    (pattern ? shown.split(pattern) : [shown]).forEach(function (part, n) { parts.push(n % 2 ? element("mark", { textContent: part }) : part); });
    return [start ? "… " : ""].concat(parts, [start + 190 < flat.length ? " …" : ""]);
  }

  var dialog = null, turn = 0;
  function dialogOf() {
    var input = element("input", { type: "search", placeholder: "Search, such as nwarps=8", "aria-label": "Search words", spellcheck: false, autocomplete: "off" });
    var names = ["type", "target", "verdict"];
    var menus = names.map(function (name) {
      var select = element("select", { "aria-label": name }, [element("option", { value: "", textContent: "any " + name })]);
      select.addEventListener("change", show);
      return select;
    });
    var status = element("p", { className: "kb-dim", role: "status" }), results = element("ol", { className: "kb-results" });
    var close = element("button", { type: "button", className: "kb-close", textContent: "×", "aria-label": "Close the search" });
    var made = element("dialog", { className: "kb-search md-typeset", "aria-label": "Search" }, [
      element("div", { className: "kb-search-head" }, [input, close]), element("div", { className: "kb-tools" }, menus), status, results]);
    close.addEventListener("click", function () { made.close(); });
    made.addEventListener("click", function (event) { if (event.target === made) made.close(); });
    document.body.append(made);

    function fill() {
      names.forEach(function (name, n) {
        var values = new Set(pages.map(function (page) { return page[name]; }).filter(Boolean));
        Array.from(values).sort().forEach(function (value) { menus[n].append(element("option", { value: value, textContent: value })); });
        menus[n].hidden = values.size < 2;
      });
      show();
    }

    function show() {
      var words = cut(input.value), mine = ++turn;
      if (!words.length) { results.textContent = ""; status.textContent = pages ? pages.length.toLocaleString("en") + " pages" : ""; return; }
      if (!pages) { status.textContent = "Loading the list of pages …"; return; }
      Promise.all(words.map(function (word) { return fetched("words-" + bucketOf(word.text)); })).then(function (buckets) {
        if (mine === turn) draw(words, ranked(words, buckets).filter(function (hit) {
          return menus.every(function (menu, n) { return !menu.value || pages[hit[0]][names[n]] === menu.value; });
        }));
      });
    }

    function draw(words, found) {
      results.textContent = "";
      status.textContent = found.length.toLocaleString("en") + (found.length === 1 ? " page" : " pages");
      found.slice(0, 30).forEach(function (hit) {
        var page = pages[hit[0]], notes = [page.type, page.target, page.verdict].filter(Boolean).join(" · ");
        var link = element("a", { href: base + page.place }, [element("b", { dir: "auto", textContent: page.title }), element("small", { textContent: notes })]);
        results.append(element("li", {}, [link]));
        fetched("text-" + Math.floor(hit[0] / TOGETHER)).then(function (texts) {
          var best = quoted(texts[hit[0] % TOGETHER], words);
          if (!best || !link.isConnected) return;
          if (best[0]) link.href = base + page.place + "#" + encodeURIComponent(best[0]);
          link.append(element("span", { dir: "auto" }, (best[1] ? [element("em", { textContent: best[1] + " " })] : []).concat(excerpt(best[2], words))));
        });
      });
    }

    input.addEventListener("input", show);
    made.addEventListener("keydown", function (event) {
      if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
      var links = Array.from(results.querySelectorAll("a")), at = links.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
      (links[at] || input).focus();
      event.preventDefault();
    });
    input.addEventListener("keydown", function (event) {
      var first = results.querySelector("a");
      if (event.key === "Enter" && first) location.href = first.href;
    });
    fetched("pages").then(function (rows) { listed(Array.isArray(rows) ? rows : []); fill(); });
    return made;
  }

  window.kbOpenSearch = function () {
    if (!dialog) dialog = dialogOf();
    if (!dialog.open) dialog.showModal();
    dialog.querySelector("input").select();
  };
  window.kbOpenSearch();
})();
