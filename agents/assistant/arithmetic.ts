// Arithmetic by recursive descent: sum → product → power → sign → atom. No code is evaluated.

/** @throws Error that says where the text is no arithmetic, or that the value isn't a number. */
export function calculate(text: string): number {
  const tokens = text.match(/\d+(?:\.\d+)?|\.\d+|\S/g) ?? [];
  const at = { index: 0 };
  const value = sum(tokens, at);
  const rest = tokens[at.index];
  if (rest !== undefined) throw new Error(`"${rest}" isn't expected there: write it as in 12 * (3 + 4).`);
  if (!Number.isFinite(value)) throw new Error("The result is no number: is something divided by zero?");
  return Number(value.toPrecision(15)); // 0.1 + 0.2 is 0.3
}

type Tokens = readonly string[];
interface Place {
  index: number;
}

function sum(tokens: Tokens, at: Place): number {
  let value = product(tokens, at);
  for (let next = tokens[at.index]; next === "+" || next === "-"; next = tokens[at.index]) {
    at.index++;
    const right = product(tokens, at);
    value = next === "+" ? value + right : value - right;
  }
  return value;
}

function product(tokens: Tokens, at: Place): number {
  let value = signed(tokens, at);
  for (let next = tokens[at.index]; next === "*" || next === "/" || next === "%"; next = tokens[at.index]) {
    at.index++;
    const right = signed(tokens, at);
    value = next === "*" ? value * right : next === "/" ? value / right : value % right;
  }
  return value;
}

function signed(tokens: Tokens, at: Place): number {
  const sign = tokens[at.index];
  if (sign !== "-" && sign !== "+") return power(tokens, at);
  at.index++;
  const value = signed(tokens, at);
  return sign === "-" ? -value : value;
}

/** To the right: 2 ^ 3 ^ 2 is 2 ^ 9. */
function power(tokens: Tokens, at: Place): number {
  const base = atom(tokens, at);
  if (tokens[at.index] !== "^") return base;
  at.index++;
  return base ** signed(tokens, at);
}

function atom(tokens: Tokens, at: Place): number {
  const token = tokens[at.index++];
  if (token === undefined) throw new Error("The expression ends too early.");
  if (/^[\d.]*\d$/.test(token)) return Number(token);
  if (token !== "(") throw new Error(`"${token}" isn't a number: write it as in 12 * (3 + 4).`);
  const value = sum(tokens, at);
  if (tokens[at.index++] !== ")") throw new Error("A parenthesis isn't closed.");
  return value;
}
