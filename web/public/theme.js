// Runs before the first paint, so that a dark console never flashes white.
(() => {
  let scheme = "auto";
  try {
    scheme = localStorage.getItem("rocelens-color-scheme") ?? "auto";
  } catch {
    // Storage may be forbidden; the system's choice is then used.
  }
  const dark = scheme === "dark" || (scheme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.mantineColorScheme = dark ? "dark" : "light";
})();
