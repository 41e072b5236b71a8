// The report. The part of the address behind # chooses the view and the filters, such as
// "#/benchmarks?suite=matmul&metric=allocs".
(() => {
  "use strict";
  const model = reportModel(JSON.parse(document.getElementById("data").textContent));
  const { data } = model;
  const byId = (id) => document.getElementById(id);
  const kDay = 86400;

  // -- Addresses

  function parseAddress() {
    const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
    return { parts: path.split("/").map(decodeURIComponent), query: new URLSearchParams(query || "") };
  }
  const filterNames = [...model.facets.map((facet) => facet.name), "branch", "metric", "range", "search"];
  const addressOf = (parts, changes = {}) => {
    const query = new URLSearchParams();
    for (const name of filterNames) {
      const value = name in changes ? changes[name] : address.query.get(name);
      if (value) query.set(name, value);
    }
    const text = query.toString();
    return `#/${parts.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
  };
  let address = parseAddress();
  const chosen = (name) => address.query.get(name) || "";
  const link = (parts, text, changes) => make("a", { href: addressOf(parts, changes) }, text);

  // -- Filters

  const newest = model.branches.reduce((best, one) => (one.last.time > best.last.time ? one : best));
  const branchNow = () => model.branches.find((one) => one.name === chosen("branch")) || newest;
  const metricNow = () => model.metrics.find((one) => one.name === chosen("metric"))
    || [data.named.instructions, data.named.wall].map((name) => model.metrics.find((one) => one.name === name))
      .find(Boolean) || model.metrics[0];

  const ranges = [
    ...(data.since ? [{ name: "since", title: `since ${data.since.name}`, from: (branch) => {
      const found = data.since.columns[branch.name];
      return found === undefined ? branch.first.index : found;
    } }] : []),
    ...[7, 30, 90].map((days) => ({ name: `${days}d`, title: `the last ${days} days`, from: (branch) => {
      const old = branch.columns.filter((one) => one.time < branch.last.time - days * kDay);
      return (old[old.length - 1] || branch.first).index;
    } })),
    { name: "all", title: "all", from: (branch) => branch.first.index },
  ];
  const rangeNow = () => ranges.find((one) => one.name === chosen("range"))
    || (data.since ? ranges[0] : ranges[ranges.length - 1]);
  const from = () => rangeNow().from(branchNow());

  const isChosenKey = (key) => model.facets.every(({ name }) => !chosen(name) || key[name] === chosen(name))
    && chosen("search").toLowerCase().split(/\s+/).every((word) => key.key.toLowerCase().includes(word));
  const has = (line) => line.metric === metricNow() && isChosenKey(line.key);
  const hasAny = (line) => isChosenKey(line.key);
  const linesNow = () => [...model.lines.values()].filter((line) => line.branch === branchNow().name && has(line));

  // -- The filters

  const kTitles = { dtype: "type", metric: "metric", range: "changes" };
  function choice(name, options) {
    const select = make("select", { name });
    for (const [value, title] of options) select.add(new Option(title, value));
    select.addEventListener("change", () => go(addressOf(address.parts, { [name]: select.value })));
    return make("label", {}, kTitles[name] || name, select);
  }
  const search = make("input", { type: "search", name: "search", autocomplete: "off", spellcheck: false });
  search.addEventListener("input", () => go(addressOf(address.parts, { search: search.value }), true));
  byId("filters").append(
    ...model.facets.filter(({ values }) => values.length > 1)
      .map(({ name, values }) => choice(name, [["", "all"], ...values.map((value) => [value, value])])),
    ...(model.branches.length > 1 ? [choice("branch", model.branches.map(({ name }) => [name, name]))] : []),
    ...(model.metrics.length > 1 ? [choice("metric", [...model.metrics].sort((a, b) => a.order - b.order)
      .map((one) => [one.name, one.heading]))] : []),
    ...(model.columns.length > 1 ? [choice("range", ranges.map((one) => [one.name, one.title]))] : []),
    make("label", {}, "search", search));
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  function showFilters() {
    for (const field of byId("filters").elements) {
      const value = { branch: branchNow().name, metric: metricNow().name, range: rangeNow().name }[field.name];
      if (field !== document.activeElement || field !== search) field.value = value || chosen(field.name);
    }
  }

  // -- Which one is shown

  const views = reportViews({ model, addressOf, link, go, chosen, branchNow, metricNow, rangeNow, from, isChosenKey,
    has, hasAny, linesNow });

  function go(hash, isTyped = false) {
    if (isTyped) history.replaceState(null, "", hash); else history.pushState(null, "", hash);
    show(isTyped);
  }

  function show(isTyped = false) {
    const isSame = parseAddress().parts.join("/") === address.parts.join("/");
    address = parseAddress();
    const [name, ...rest] = address.parts;
    const view = views.find((one) => one.name === name) || views[0];
    showFilters();
    byId("views").replaceChildren(...views.filter((one) => one.title)
      .filter((one) => model.columns.length > 1 || !["compare", "commits"].includes(one.name))
      .filter((one) => !one.has || one.has()).map((one) => {
        const item = link(one.name ? [one.name] : [], one.title);
        if (one === view) item.setAttribute("aria-current", "page");
        return make("li", {}, item);
      }));
    const [heading, ...content] = view.show(rest);
    const title = make("h2", { tabIndex: -1 }, heading);
    byId("view").replaceChildren(title, ...content);
    document.title = `${heading} - ${data.title}`;
    if (!isTyped && !isSame) { title.focus({ preventScroll: true }); scrollTo(0, 0); }
  }

  document.addEventListener("keydown", (event) => {
    const isTyping = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);
    if (event.key === "/" && !isTyping && !event.defaultPrevented) { event.preventDefault(); search.focus(); }
    if (event.key !== "Escape" || event.target !== search) return;
    search.value = "";
    go(addressOf(address.parts, { search: "" }), true);
  });
  addEventListener("popstate", () => show());
  byId("title").textContent = data.title;
  byId("made").textContent = `${plural(model.keys.length, "benchmark")}, ${plural(model.columns.length,
    model.isOfFiles ? "file" : "commit")}; made ${data.made.slice(0, 16).replace("T", " ")} UTC by instr_bench `
    + data.version;
  show(true);
})();
