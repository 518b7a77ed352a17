// A predicted number beside the measured one. Without this the form is a line to write on.
for (const form of document.querySelectorAll("form.predict")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const said = form.querySelector("output"), unit = form.dataset.unit;
    const written = form.querySelector("input").value.replace(/\s/g, "");
    const answer = Number(form.dataset.answer);
    const decimal = Number(written.replace(",", ".")), whole = Number(written.replaceAll(",", ""));
    const grouped = /^[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/.test(written); // 2,773 is 2773 or 2.773: the nearer is meant
    const nearer = !(Math.abs(Math.log(decimal / answer)) < Math.abs(Math.log(whole / answer)));
    const mine = grouped && nearer ? whole : decimal;
    if (!written || !Number.isFinite(mine)) {
      said.textContent = `Write a number, in ${unit || "the unit of the question"}.`;
      return;
    }
    const off = answer ? 100 * (mine / answer - 1) : 0;
    const far = Math.abs(off) >= 10 ? Math.abs(off).toFixed(0) : Number(Math.abs(off).toPrecision(2));
    const right = mine.toPrecision(4) === answer.toPrecision(4);
    const verdict = right ? "right" : `${far} % too ${off > 0 ? "high" : "low"}`;
    said.textContent = `You wrote ${mine} ${unit}; measured: ${Number(answer.toPrecision(4))} ${unit}. Your number is ${verdict}.`;
  });
}
