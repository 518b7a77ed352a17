// Predict first: what was measured is folded until a number is written. The first number counts; the browser keeps it.
const LESSON = document.querySelector("main").dataset.lesson, STORE = "landspeed-predictions";
const POWERS = { "": 1, k: 1e3, K: 1024, M: 1e6, G: 1e9, T: 1e12, m: 1e-3, "µ": 1e-6, "μ": 1e-6, u: 1e-6, n: 1e-9, Ki: 1024, Mi: 2 ** 20, Gi: 2 ** 30 };
const WORDS = { min: 60, h: 3600, bps: "bit/s", kbps: "kbit/s", Mbps: "Mbit/s", Gbps: "Gbit/s", percent: "%", packet: "packets" };

async function opened(sealed) {
  const bytes = Uint8Array.from(atob(sealed), (each) => each.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}

function all() { // {"lesson place": {lesson, question, wrote, unit, measured, at}}
  try { return JSON.parse(localStorage.getItem(STORE)) || {}; } catch { return {}; }
}

function keep(predictions) {
  try { localStorage.setItem(STORE, JSON.stringify(predictions)); } catch { /* a browser that keeps nothing */ }
}

function size(unit) { // [what is measured, how many of its base unit]; null: no unit
  const word = WORDS[unit] ?? unit;
  if (typeof word === "number") return ["s", word];
  const found = /^(Ki|Mi|Gi|[kKMGTmµμun])?(bit\/s|B\/s|B|s)$/.exec(word);
  if (!found) return [word, 1];
  const per = POWERS[found[1] ?? ""] * (found[2] === "B/s" ? 8 : 1);
  return [found[2] === "B/s" ? "bit/s" : found[2], per];
}

function numbers(written) { // what digits may mean: 2,773 is 2773 or 2.773
  const text = written.replace(/[\s\u00a0\u202f'’_]/g, "").replace("−", "-");
  const found = [];
  if (/^-?(\d+\.?\d*|\.\d+)(e-?\d+)?$/i.test(text)) found.push(Number(text));
  if (/^-?\d+,\d+$/.test(text)) found.push(Number(text.replace(",", ".")));
  if (/^-?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/.test(text)) found.push(Number(text.replaceAll(",", "")));
  if (/^-?[1-9]\d{0,2}(\.\d{3})+(,\d+)?$/.test(text)) found.push(Number(text.replaceAll(".", "").replace(",", ".")));
  return found;
}

function read(written, unit, answer) { // the number in the question's unit; null: it is none
  const parts = /^\s*([-−+]?[\d.,\s\u00a0\u202f'’_]*\d(?:e-?\d+)?)\s*([^\d\s].*?)?\s*$/i.exec(written);
  if (!parts) return null;
  const [kind, per] = size(unit), [other, factor] = size(parts[2] ?? unit);
  if (kind !== other) return null;
  const meant = numbers(parts[1]).map((each) => (each * factor) / per);
  const far = (each) => Math.abs(Math.log(Math.abs(each / answer)) || 0);
  return meant.length ? meant.reduce((a, b) => (far(b) < far(a) ? b : a)) : null;
}

function plain(value) { return Number(value.toPrecision(6)).toLocaleString("en", { maximumSignificantDigits: 6 }).replaceAll(",", "\u202f"); }

function told(mine, answer, unit) {
  const off = answer ? 100 * (mine / answer - 1) : 0, size = Math.abs(off);
  const far = size >= 10 ? size.toFixed(0) : Number(size.toPrecision(2));
  const right = mine.toPrecision(4) === answer.toPrecision(4);
  const verdict = right ? "right" : `${far} % too ${off > 0 ? "high" : "low"}`;
  return `You wrote ${plain(mine)} ${unit}; measured: ${plain(Number(answer.toPrecision(4)))} ${unit}. Your number is ${verdict}.`;
}

async function unseal(place) {
  if (!place.isConnected) return;
  const shown = document.createElement("div");
  shown.id = place.id;
  shown.innerHTML = await opened(place.dataset.sealed);
  for (const each of Object.values(all())) {
    if (each.lesson !== LESSON || each.key !== place.dataset.key) continue;
    const line = document.createElement("p");
    line.className = "note";
    line.textContent = `${each.question} ${told(each.wrote, each.measured, each.unit)}`;
    shown.append(line);
  }
  place.replaceWith(shown);
}

async function show() { // whatever may be seen now, and the table of what was written
  const mine = all(), forms = [...document.querySelectorAll("form.predict")];
  const open = forms.filter((form) => !mine[`${LESSON} ${form.id}`]);
  const keys = new Set(forms.map((form) => form.dataset.key)), waiting = new Set(open.map((form) => form.dataset.key));
  for (const place of document.querySelectorAll(".sealed")) {
    const key = place.dataset.key;
    if (keys.has(key) ? !waiting.has(key) : open.length === 0) await unseal(place);
  }
  const rows = Object.values(mine).filter((each) => each.lesson === LESSON);
  const section = document.querySelector("section.mine");
  section.hidden = rows.length === 0;
  section.querySelector("tbody").replaceChildren(...rows.map((each) => {
    const row = document.createElement("tr");
    for (const [name, text] of [["th", each.question], ["td", `${plain(each.wrote)} ${each.unit}`], ["td", `${plain(Number(each.measured.toPrecision(4)))} ${each.unit}`]]) {
      row.append(Object.assign(document.createElement(name), { textContent: text }));
    }
    return row;
  }));
}

for (const form of document.querySelectorAll("form.predict")) {
  const name = `${LESSON} ${form.id}`, said = form.querySelector("output"), unit = form.dataset.unit;
  const before = all()[name];
  if (before) {
    form.querySelector("input").value = plain(before.wrote);
    said.textContent = told(before.wrote, before.measured, unit);
  }
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const answer = Number(await opened(form.dataset.sealed));
    const wrote = read(form.querySelector("input").value, unit, answer);
    if (wrote === null || !Number.isFinite(wrote)) {
      said.textContent = `Write a number, in ${unit || "the unit of the question"}.`;
      return;
    }
    said.textContent = told(wrote, answer, unit);
    const mine = all(), question = form.querySelector("label").textContent;
    if (!mine[name]) keep({ ...mine, [name]: { lesson: LESSON, key: form.dataset.key, question, wrote, unit, measured: answer, at: new Date().toISOString() } });
    else if (mine[name].wrote !== wrote) said.textContent += ` Your first number, ${plain(mine[name].wrote)}, is kept.`;
    await show();
  });
}
for (const place of document.querySelectorAll(".sealed")) place.querySelector("button").addEventListener("click", () => unseal(place));
document.getElementById("forget").addEventListener("click", () => {
  keep(Object.fromEntries(Object.entries(all()).filter(([, each]) => each.lesson !== LESSON)));
  location.reload();
});
document.getElementById("export").addEventListener("click", () => {
  const quoted = (each) => `"${String(each).replaceAll('"', '""')}"`;
  const rows = Object.values(all()).map((each) => [each.lesson, each.question, each.wrote, each.unit, each.measured, each.at].map(quoted).join(","));
  const text = ["lesson,question,wrote,unit,measured,at", ...rows, ""].join("\r\n");
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: "predictions.csv" });
  link.click();
  URL.revokeObjectURL(link.href);
});
show();
