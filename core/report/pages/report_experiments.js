// Experiments in a report: their summary, what needs attention, and the details of each. Their texts and figures are
// those that C++ computed (html_experiments.cpp); this only arranges them.

// A table of the data, whose columns know their places.
const parseTable = ({ title, columns, rows }) =>
  ({ title, columns: columns.map((column, place) => ({ ...column, place })), rows });

// Returns the experiments of the data, or null.
const parseExperiments = ({ experiments }) => {
  if (!experiments) return null;
  const summary = parseTable(experiments.summary), each = parseTable(experiments.each);
  const eachById = new Map(each.rows.map((row) => [row.id, row]));
  const list = experiments.list.map(({ key, model, backend, row, speedup, facts, lists }) => ({ key, model,
    title: `${model}, ${backend}`, row: summary.rows[row] || null, each: eachById.get(key), ...speedup,
    facts: new Map(Object.entries(facts)), lists: lists.map(parseTable) }));
  return { conclusion: experiments.conclusion, summary, each, list, findings: experiments.findings.map(parseTable),
    byKey: new Map(list.map((one) => [one.key, one])) };
};

const kToneClasses = { good: "better", warning: "note", bad: "worse", dim: "dim" };
const kNoCell = { text: "-", tone: "dim" };

// A column of makeTable() for a column of a table of C++. `cellOf(row)`: its cell; `show(row, text)`: its content.
function cellColumn(title, rows, cellOf, show = (row, text) => text) {
  const isText = !rows.some((row) => cellOf(row).number !== undefined);
  return { title, text: isText, of: (row) => show(row, cellOf(row).text),
    tone: (row) => kToneClasses[cellOf(row).tone],
    sort: (row) => (isText ? cellOf(row).text : cellOf(row).number) };
}

// The parts of views that show experiments.
const experimentParts = (page) => {
  "use strict";
  const { model, link, isChosenKey } = page;
  const { experiments } = model;
  const kShown = 20; // rows of a list of findings
  const isChosen = (key) => isChosenKey(model.byKey.get(key));
  const experimentLink = (key, text) => link(["benchmark", key], text);
  const firstLine = (text) => (text || "").split("\n", 1)[0];
  const whyOf = ({ facts }) => firstLine(facts.get("failed") || facts.get("skipped") || facts.get("verification"));

  // The rows of a finding that the filters leave.
  const rowsOf = (finding) => finding.rows.filter((row) => isChosen(row.id));
  const findings = () => (experiments ? experiments.findings : []).map((finding) =>
    ({ ...finding, rows: rowsOf(finding) })).filter(({ rows }) => rows.length > 0);

  function findingTable({ title, columns, rows }, page = kShown) {
    const [, ...others] = columns;
    return makeTable({ caption: title, rows, page, columns: [
      { title: "experiment", text: true, of: (row) => experimentLink(row.id, row.cells[0].text),
        sort: (row) => row.cells[0].text },
      ...others.map(({ heading, place }) => cellColumn(heading, rows, (row) => row.cells[place]))] });
  }

  // Each figure leads to the experiments behind it.
  function summaryTable() {
    const shownRows = new Set(experiments.list.filter((one) => isChosen(one.key)).map((one) => one.row));
    const { columns: [, ...figures], rows: all } = experiments.summary;
    const rows = all.filter((row) => shownRows.has(row));
    const lead = (name) => (row, text) => (text === kNoCell.text ? text
      : link(["experiments", row.id, ...(name ? [name] : [])], text));
    const byName = { title: "backend", text: true, of: (row) => lead()(row, row.name), sort: (row) => row.name };
    const byGroup = { title: "suite and test", text: true, of: (row) => row.group, sort: (row) => row.group };
    return make("div", {}, makeTable({ caption: "Suites and backends", className: "summary", rows,
      columns: [...(rows.some((row) => row.group) ? [byGroup] : []), byName,
        ...figures.map(({ heading, name, place }) =>
          cellColumn(heading, rows, (row) => row.cells[place], lead(name)))] }),
    make("p", {}, `${experiments.conclusion}. Speed-up and memory saved: geometric means of the ratios to eager over `
      + "what passed, more is better; compile time: mean. A number opens its experiments."));
  }

  // Columns of experiments that have a row in the table of each.
  function listColumns(rows) {
    const { columns: [, ...figures] } = experiments.each;
    const cellOf = (place) => (one) => (one.each ? one.each.cells[place] : kNoCell);
    return [{ name: "experiment", title: "experiment", text: true, of: (one) => experimentLink(one.key, one.title),
      sort: (one) => one.title },
    ...figures.map(({ heading, name, place }) => ({ name, ...cellColumn(heading, rows, cellOf(place)) })),
    ...(rows.some(whyOf) ? [{ title: "reason", text: true, of: whyOf, sort: whyOf }] : []),
    ...(rows.some((one) => !one.each) ? [{ title: "time of an iteration", text: true,
      of: (one) => one.facts.get("time of an iteration") || "" }] : [])];
  }

  // -- Views

  // The experiments behind a row of the summary, by one of its figures; all without a row.
  function listView([id, figure]) {
    const isNotPassed = (one) => one.each && one.each.cells.some(({ tone }, i) =>
      experiments.each.columns[i].name === "code" && tone !== "good");
    const rows = experiments.list.filter((one) => (!id || (one.row && one.row.id === id)) && isChosen(one.key)
      && (figure !== "not_passed" || isNotPassed(one)));
    const columns = listColumns(rows);
    const sortedBy = figure === "speedup_arithmetic" ? "speedup" : figure;
    const place = columns.findIndex(({ name }) => name && name === sortedBy);
    const what = figure === "not_passed" ? ", not passed" : "";
    return [id ? `Experiments: ${id}${what}` : "Experiments", makeTable({ caption: plural(rows.length, "experiment"),
      rows, columns,
      sorted: place < 0 ? undefined : { place, isUp: ["speedup", "memory_saved"].includes(sortedBy) } })];
  }

  function findingView([title]) {
    const finding = findings().find((one) => one.title === title);
    return [title, finding ? findingTable(finding, 100) : make("p", {}, "There is none.")];
  }

  // Everything about an experiment, above what other results of its key have.
  function details(key) {
    const one = experiments && experiments.byKey.get(key);
    if (!one) return [];
    const { columns: [, ...figures] } = experiments.each;
    const cells = one.each ? figures.filter(({ name }) => name !== "time").map(({ heading, place }) =>
      [heading, make("span", { className: kToneClasses[one.each.cells[place].tone] || "" },
        one.each.cells[place].text)]) : [];
    const others = experiments.list.filter((other) => other.model === one.model && other.row && one.row
      && other.row.group === one.row.group && other.each);
    return [make("p", {}, one.title),
      makeFacts([["belongs to", one.row && link(["experiments", one.row.id], one.row.id)], ...cells, ...one.facts]),
      ...one.lists.map(({ title, columns, rows }) => makeTable({ caption: title, rows,
        columns: columns.map(({ heading, place }) => cellColumn(heading, rows, (row) => row.cells[place])) })),
      ...(others.length < 2 ? [] : [makeTable({ caption: "The same model by backend", rows: others,
        columns: listColumns(others) })])];
  }

  const has = (key) => Boolean(experiments && experiments.byKey.has(key));
  return { findings, findingTable, summaryTable, details, has, views: experiments ? [
    { name: "experiments", title: "Experiments", show: listView }, { name: "finding", show: findingView }] : [] };
};
