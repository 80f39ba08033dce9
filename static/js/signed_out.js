// An answer that is the page to sign in never takes a piece of this page's place: what stands here stays, and the badge says so.
import { signedOut } from "panel/live";

document.addEventListener("htmx:beforeOnLoad", (event) => {
  const { responseURL } = event.detail.xhr;
  if (!responseURL || new URL(responseURL).pathname !== "/sign-in" || location.pathname === "/sign-in") return;
  event.preventDefault();
  signedOut();
});
