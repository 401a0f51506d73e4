// The console's beginning: what esbuild bundles.
import "./styles/all.css";
import { render } from "preact";
import { App } from "./app.tsx";
import { begin } from "./session.ts";
import { beginTheme } from "./theme.ts";

begin();
beginTheme();
const root = document.getElementById("app");
if (root !== null) render(<App />, root);
