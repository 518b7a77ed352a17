// A predicted number beside the measured one. Without this the form is a line to write on.
for (const form of document.querySelectorAll("form.predict")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const said = form.querySelector("output"), unit = form.dataset.unit;
    const mine = Number(form.querySelector("input").value.trim().replace(/\s/g, "").replace(",", "."));
    if (!form.querySelector("input").value.trim() || !Number.isFinite(mine)) {
      said.textContent = `Write a number, in ${unit || "the unit of the question"}.`;
      return;
    }
    const measured = Number(form.dataset.answer), off = measured ? 100 * (mine / measured - 1) : 0;
    const far = Math.abs(off) >= 10 ? Math.abs(off).toFixed(0) : Number(Math.abs(off).toPrecision(2));
    said.textContent = `You wrote ${mine} ${unit}; measured: ${Number(measured.toPrecision(4))} ${unit}. Your number is ${far} % too ${off > 0 ? "high" : "low"}.`;
  });
}
