// Signing in: with a key, which is tried before anything else is shown.
import { useState } from "preact/hooks";
import { Icon } from "../parts/icon.tsx";
import { Mark } from "../parts/mark.tsx";
import { signedOutBecause, signIn } from "../session.ts";

export function SignIn() {
  const [text, setText] = useState("");
  const because = signedOutBecause();
  const submit = (event: Event): void => {
    event.preventDefault();
    if (text.trim() !== "") signIn(text);
  };
  return (
    <main class="signin">
      <form onSubmit={submit}>
        <div class="brand">
          <Mark /> Toren
        </div>
        <div class="stack tight">
          <h1>Sign in with an API key</h1>
          <p class="soft">It is kept for this tab alone, and sent to this server alone.</p>
        </div>
        {because === null ? null : (
          <div class="note bad-note" role="alert">
            <Icon name="warn" />
            <p>{because}</p>
          </div>
        )}
        <div class="field">
          <label for="key">Key</label>
          <input
            id="key"
            class="input mono"
            type="password"
            autoComplete="off"
            spellcheck={false}
            placeholder="toren_…"
            value={text}
            onInput={(e) => setText(e.currentTarget.value)}
          />
        </div>
        <button type="submit" class="button first" disabled={text.trim() === ""}>
          Sign in
        </button>
        <p class="small soft">
          On your own machine <code>toren dev</code> prints a link that signs you in; the key is in{" "}
          <code>.toren/key</code>.
        </p>
      </form>
    </main>
  );
}
