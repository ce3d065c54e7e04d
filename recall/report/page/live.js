
// A served page asks for the number of the newest report, and loads it when there is one.
const shownNumber = "NUMBER_OF_THIS_REPORT";
setInterval(async () => {
  try {
    const number = await (await fetch("/number", { cache: "no-store" })).text();
    document.body.dataset.live = "yes";
    if (number !== shownNumber) location.reload(); // the browser keeps the place on the page
  } catch {
    document.body.dataset.live = "stopped";
  }
}, 1000);
