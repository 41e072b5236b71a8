// flameGraph(container, data) draws a call tree inside the element `container`. Returns the handler of keys,
// for pages that handle keys wherever the focus is. Needs page.js.
//
// data: { functions: [{ name, short, object, kind, place }, ...],
//         nodes: [[parent, function, self, total, calls, selfBefore, totalBefore], ...],
//         before }
// Parents precede their children. `place` is the first line of a function, if known. Costs are instructions
// per iteration. Only comparisons have the last two numbers of a node and `before`, the count.
const flameGraph = (() => {
  "use strict";
  const kRow = 20;        // height of a frame in pixels
  const kMinWidth = 0.7;
  const kThin = 4;        // narrower frames have no border
  const kNamed = 20;      // wider frames have a name

  const changeOf = (node) => node.total - node.totalBefore;
  const ownChangeOf = (node) => node.self - node.selfBefore;
  const hasAbove = (node, other) => {
    for (let at = node; at; at = at.parent) if (at === other) return true;
    return false;
  };

  // Nodes with their function, parent and children, the widest first. The width is the greater of both self
  // costs plus the widths of the children, so that removed calls keep their width.
  function nodesOf(data) {
    const nodes = data.nodes.map(([parent, name, self, total, calls, selfBefore = 0, totalBefore = 0]) =>
      ({ parent, ...data.functions[name], self, total, calls, selfBefore, totalBefore, children: [],
        width: Math.max(0, self, selfBefore) }));
    nodes.forEach((node, i) => {
      node.depth = i === 0 ? 0 : nodes[node.parent].depth + 1;
      node.parent = i === 0 ? null : nodes[node.parent];
      if (node.parent) node.parent.children.push(node);
    });
    for (const node of nodes.slice(1).reverse()) node.parent.width += node.width;
    for (const node of nodes) node.children.sort((a, b) => b.width - a.width);
    return nodes;
  }

  // Names that are neighbours get different hues.
  function coloursBy(nodes, nameOf) {
    const names = [...new Set(nodes.map(nameOf))].sort();
    return (node) => [nameOf(node), `hsl(${(20 + names.indexOf(nameOf(node)) * 137.5) % 360} 70% 77%)`];
  }

  function coloursByChange(nodes, changeIn) {
    const greatest = nodes.slice(1).reduce((most, node) => Math.max(most, Math.abs(changeIn(node))), 1);
    return (node) => {
      const change = changeIn(node);
      if (change === 0) return ["unchanged", "hsl(0 0% 85%)"];
      const light = 85 - 32 * Math.sqrt(Math.min(1, Math.abs(change) / greatest));
      return change > 0 ? ["more", `hsl(8 85% ${light}%)`] : ["less", `hsl(212 85% ${light}%)`];
    };
  }

  // Ways to colour, by name: a title, and a function from a node to its class and colour.
  function coloursOf(nodes, hasBefore) {
    return {
      ...(hasBefore && {
        change: { title: "change, with what it calls", of: coloursByChange(nodes, changeOf) },
        own: { title: "change of its own cost", of: coloursByChange(nodes, ownChangeOf) },
      }),
      kind: { title: "kind of code", of: coloursBy(nodes, (node) => node.kind) },
      library: { title: "library", of: coloursBy(nodes, (node) => node.object || "unknown") },
    };
  }

  function describe(node, whole, hasBefore) {
    const lines = [node.name, `${numbers.format(node.total)} instructions with all that it calls, ` +
      `${percent(node.total, whole.total)} of the count; ${numbers.format(node.self)} in itself` +
      (node.calls ? `; ${numbers.format(node.calls)} calls` : "")];
    if (hasBefore) {
      lines.push(`before: ${numbers.format(node.totalBefore)}, ${signed(changeOf(node))}; in itself ` +
        `${numbers.format(node.selfBefore)}, ${signed(ownChangeOf(node))}`);
    }
    if (node.object) lines.push(node.object + (node.place ? `, ${node.place}` : ""));
    return lines;
  }

  function sumsOf(data, whole) {
    const exact = " instructions per iteration; each path of calls with its exact cost";
    if (data.before === undefined) return numbers.format(whole.total) + exact;
    return `${numbers.format(data.before)} → ${numbers.format(whole.total)}` +
      ` (${signed(whole.total - data.before)})${exact}`;
  }

  // The functions with the sums of their self costs.
  function functionsOf(nodes) {
    const rows = new Map();
    for (const node of nodes) {
      const key = node.name + "\n" + node.object;
      const row = rows.get(key) ||
        { name: node.name, short: node.short, object: node.object, self: 0, selfBefore: 0, calls: 0 };
      row.self += node.self;
      row.selfBefore += node.selfBefore;
      row.calls += node.calls;
      rows.set(key, row);
    }
    return [...rows.values()];
  }

  // Sorts by cost, or by change. `choose`: called with a function's name.
  function fillTable(table, nodes, hasBefore, choose) {
    const names = ["function", "library"];
    const titles = (hasBefore ? ["before", "after", "change"] : ["instructions", "share"]).concat("calls", names);
    const cellsOf = (row) => (hasBefore
      ? [numbers.format(row.selfBefore), numbers.format(row.self), signed(ownChangeOf(row))]
      : [numbers.format(row.self), percent(row.self, nodes[0].total)])
      .concat(numbers.format(row.calls), nameOf(row), row.object);
    const nameOf = (row) => {
      const name = make("button", { type: "button", className: "name", textContent: row.short, title: row.name });
      name.addEventListener("click", () => choose(row.name));
      return name;
    };
    const weight = (row) => (hasBefore ? Math.abs(ownChangeOf(row)) : row.self);
    const line = (cells, kind) => make("tr", {}, ...cells.map((cell, i) =>
      make(kind, { className: i < cells.length - names.length ? "" : "text" }, cell)));
    const rows = functionsOf(nodes).filter((row) => weight(row) !== 0).sort((a, b) => weight(b) - weight(a));
    table.append(make("thead", {}, line(titles, "th")),
      make("tbody", {}, ...rows.map((row) => line(cellsOf(row), "td"))));
  }

  function elementsOf(colours, hasBefore) {
    const parts = {
      sums: make("p"),
      search: make("input", { type: "search", autocomplete: "off", spellcheck: false }),
      colour: make("select", {}, ...Object.entries(colours).map(([name, { title }]) => new Option(title, name))),
      whole: make("button", { type: "button", textContent: "Whole graph" }),
      found: make("span", { role: "status" }),
      legend: make("ul", { className: "legend", "aria-label": "Colours" }),
      graph: make("div", { className: "graph", role: "group",
        "aria-label": "Functions, each below its caller, as wide as what it costs with all that it calls" }),
      about: make("div", { className: "about", role: "status" }),
      table: make("table"),
    };
    parts.form = make("form", {}, make("label", {}, "Search ", parts.search),
      make("label", {}, "Colour ", parts.colour), parts.whole, parts.found);
    parts.help = make("p", { textContent: "A click, or Enter, makes a function fill the width; Escape shows all " +
      "again. Arrows go to its caller, what it calls and its neighbours; / searches." });
    parts.list = make("details", { className: hasBefore ? "moved" : "" },
      make("summary", { textContent: hasBefore ? "What moved, by function" : "As a table" }),
      make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Table of functions" }, parts.table));
    return parts;
  }

  // The node to which an arrow leads, if any.
  function step(node, key) {
    if (key === "ArrowUp") return node.parent;
    if (key === "ArrowDown") return node.children.find((child) => child.frame);
    const beside = node.parent ? node.parent.children.filter((child) => child.frame) : [];
    return beside[beside.indexOf(node) + (key === "ArrowRight" ? 1 : -1)];
  }

  return (container, data) => {
    const hasBefore = data.before !== undefined;
    const nodes = nodesOf(data);
    const colours = coloursOf(nodes, hasBefore);
    const parts = elementsOf(colours, hasBefore);
    let root = nodes[0];     // fills the width
    let current = nodes[0];  // has the focus, or would have
    let width = 0;           // as drawn

    const colourOf = (node) => colours[parts.colour.value].of(node);
    const linesOf = (node) => describe(node, nodes[0], hasBefore);
    const tell = (node) =>
      parts.about.replaceChildren(...linesOf(node).map((line) => make("div", { textContent: line, dir: "auto" })));

    function frameOf(node, left, wide, isMatch) {
      const isDim = !isMatch || (node !== root && hasAbove(root, node));
      const classes = ["frame", isDim && "dim", wide < kThin && "thin"];
      const frame = make("button", { type: "button", className: classes.filter(Boolean).join(" "),
        textContent: wide > kNamed ? node.short : "", title: linesOf(node).join("\n"),
        "aria-label": linesOf(node).join(", "), tabIndex: node === current ? 0 : -1 });
      frame.style.left = `${left}px`;
      frame.style.top = `${node.depth * kRow}px`;
      frame.style.width = `${wide}px`;
      if (!isDim) frame.style.backgroundColor = colourOf(node)[1];
      frame.addEventListener("click", () => zoom(node));
      frame.addEventListener("focus", () => { current = node; tell(node); });
      frame.addEventListener("mouseenter", () => tell(node));
      node.frame = frame;
      return frame;
    }

    // The frames of the root and its callees, with their colours and the cost of matches.
    function layOut(wanted) {
      const all = { frames: [], seen: new Map(), found: 0, deepest: 0 };
      const put = (node, left, wide, isWithin) => {
        if (wide < kMinWidth) return;
        const isMatch = node.name.toLowerCase().includes(wanted);
        if (isMatch && !isWithin) all.found += node.total;
        all.frames.push(frameOf(node, left, wide, isMatch));
        all.seen.set(...colourOf(node));
        all.deepest = Math.max(all.deepest, node.depth);
        let at = left;
        for (const child of node.children) {
          const part = wide * child.width / Math.max(node.width, 1e-9);
          put(child, at, part, isWithin || isMatch);
          at += part;
        }
      };
      put(root, 0, width, false);
      return all;
    }

    function draw() {
      width = parts.graph.clientWidth;
      if (width === 0) return;  // not shown
      const wanted = parts.search.value.toLowerCase();
      for (const node of nodes) node.frame = null;
      const all = layOut(wanted);
      for (let at = root.parent; at; at = at.parent) all.frames.unshift(frameOf(at, 0, width, false));
      parts.graph.style.height = `${(all.deepest + 1) * kRow}px`;
      parts.graph.replaceChildren(...all.frames);
      if (!current.frame) { current = root; root.frame.tabIndex = 0; }
      parts.found.textContent = wanted
        ? `${numbers.format(all.found)} instructions, ${percent(all.found, root.total)}, in what matches` : "";
      parts.legend.replaceChildren(...[...all.seen].sort().map(([name, colour]) => {
        const mark = make("span");
        mark.style.backgroundColor = colour;
        return make("li", {}, mark, name);
      }));
    }

    function zoom(node) {
      root = current = node;
      draw();
      tell(node);
      if (node.frame) node.frame.focus();
    }

    function onKey(event) {
      if (event.key === "Escape") { parts.search.value = ""; zoom(nodes[0]); }
      if (event.key === "/" && event.target !== parts.search) { event.preventDefault(); parts.search.focus(); }
    }

    function onArrow(event) {
      if (!event.key.startsWith("Arrow")) return;
      event.preventDefault();
      const next = step(current, event.key);
      if (!next || !next.frame) return;
      current.frame.tabIndex = -1;
      next.frame.tabIndex = 0;
      next.frame.focus();
    }

    container.classList.add("flame");
    const graph = [parts.form, parts.legend, parts.graph, parts.about, parts.help];
    container.replaceChildren(parts.sums, ...(hasBefore ? [parts.list, ...graph] : [...graph, parts.list]));
    parts.sums.textContent = sumsOf(data, nodes[0]);
    parts.form.addEventListener("submit", (event) => event.preventDefault());
    parts.search.addEventListener("input", draw);
    parts.colour.addEventListener("change", draw);
    parts.whole.addEventListener("click", () => zoom(nodes[0]));
    parts.graph.addEventListener("keydown", onArrow);
    const find = (name) => { parts.search.value = name; draw(); };
    parts.list.addEventListener("toggle", () => fillTable(parts.table, nodes, hasBefore, find), { once: true });
    parts.list.open = hasBefore;
    container.addEventListener("keydown", onKey);
    new ResizeObserver(() => { if (parts.graph.clientWidth !== width) draw(); }).observe(parts.graph);
    draw();
    tell(nodes[0]);
    return onKey;
  };
})();
