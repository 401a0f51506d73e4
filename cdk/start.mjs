// What `npx cdk` runs. The stack is TypeScript, which Node reads as it is from 24 on; an older one is told so in a sentence. Plain JavaScript for that reason.
const NODE_MAJOR_MIN = 24;

if (Number.parseInt(process.versions.node, 10) < NODE_MAJOR_MIN) {
  console.error(
    `The stack needs Node ${NODE_MAJOR_MIN} or newer; this is ${process.version}. On Linux \`npm ci\` brings one along, and \`npx cdk\` uses it; elsewhere install it.`,
  );
  process.exit(1);
}
const { main } = await import("./app.ts");
main();
