// The layers, as rules: imports point down only. Each rule says why it is there; ARCHITECTURE.md draws the picture.
// `npm run deps` checks them. A new layer or a new library in the core is a decision: change the rule and its reason in the same commit.

const SHIPPED = "^(shared|functions|local|cdk|console|agents)/";
const OURS = "^(shared|functions|local|cdk|console|agents|test|bench|docs)/";

/** What a layer may import of ours; everything else of ours is refused. */
const layer = (name, folder, allowed, comment) => ({
  name,
  comment,
  severity: "error",
  from: { path: `^${folder}/` },
  to: { path: OURS, pathNot: allowed.map((path) => `^${path}`) },
});

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    layer(
      "core-imports-core",
      "shared/core",
      ["shared/core/"],
      "The core is a pure fold over the log: what it can't reach it can't be changed by, so a replay decides as the first run did.",
    ),
    {
      name: "core-stays-pure",
      comment:
        "The core has no I/O, clock or randomness. Allowed are libraries that compute (zod, ajv), hashing, and the two parts of Node that the workflow scheduler needs to be deterministic (AsyncLocalStorage, nextTick).",
      severity: "error",
      from: { path: "^shared/core/" },
      to: {
        dependencyTypes: ["core", "npm", "npm-dev", "npm-optional", "npm-peer", "npm-no-pkg", "npm-unknown"],
        pathNot: ["^(node:)?(crypto|async_hooks|process)$", "node_modules/(zod|ajv)/"],
      },
    },
    {
      name: "core-processes-only-in-the-window",
      comment:
        "node:process is there for nextTick alone, and workflow/window.ts is where it is used: nothing else in the core may see the process.",
      severity: "error",
      from: { path: "^shared/core/", pathNot: "^shared/core/workflow/window\\.ts$" },
      to: { path: "^(node:)?(process|async_hooks)$" },
    },
    layer(
      "ports-import-core",
      "shared/ports",
      ["shared/core/", "shared/ports/"],
      "A port says what the engine needs from the world. If it knew an adapter, the adapter couldn't be replaced.",
    ),
    {
      name: "ports-name-no-technology",
      comment:
        "Ports are types. The one library named in them is pg, as the type of a pool: Postgres is the product's one database, not a replaceable part.",
      severity: "error",
      from: { path: "^shared/ports/" },
      to: { dependencyTypes: ["core", "npm", "npm-dev"], pathNot: ["node_modules/(@types/)?pg/"] },
    },
    layer(
      "engine-imports-core-and-ports",
      "shared/engine",
      ["shared/core/", "shared/ports/", "shared/engine/"],
      "The use cases run the same on a laptop, on AWS and in the simulation: they know the world by its ports only.",
    ),
    {
      name: "engine-imports-no-library",
      comment: "I/O is a port's business: a library or a part of Node in the engine is I/O, or belongs to the core.",
      severity: "error",
      from: { path: "^shared/engine/", pathNot: "^shared/engine/telemetry\\.ts$" },
      to: { dependencyTypes: ["core", "npm", "npm-dev"] },
    },
    {
      name: "one-door-to-opentelemetry",
      comment:
        "OpenTelemetry's API is a port already: no I/O, no clock, and nothing happens in it until whoever runs the process registers an SDK. One file knows it, and says nothing that is private; a second one could.",
      severity: "error",
      from: { path: OURS, pathNot: ["^shared/engine/telemetry\\.ts$", "^(test|docs)/"] },
      to: { path: "node_modules/@opentelemetry/" },
    },
    {
      name: "that-door-opens-on-the-api-alone",
      comment: "The SDK is the user's: which exporter, which sampler, and whether there is one at all.",
      severity: "error",
      from: { path: "^shared/engine/telemetry\\.ts$" },
      to: { dependencyTypes: ["core", "npm", "npm-dev"], pathNot: "node_modules/@opentelemetry/api/" },
    },
    layer(
      "adapters-import-core-and-ports",
      "shared/adapters",
      ["shared/core/", "shared/ports/", "shared/adapters/", "shared/sql/"],
      "An adapter turns one technology into a port. It knows neither who calls it nor why.",
    ),
    {
      name: "adapters-keep-to-their-port",
      comment:
        "An adapter that imports another port's adapter can't be swapped alone. Shared by all that talk to Postgres: how to connect (database/pools.ts), how to listen (database/notices.ts), and what its error codes mean (database/failures.ts); by all that talk to AWS: how long it may take (aws/calls.ts).",
      severity: "error",
      from: { path: "^shared/adapters/([^/]+)/" },
      to: {
        path: "^shared/adapters/",
        pathNot: [
          "^shared/adapters/$1/",
          "^shared/adapters/database/(failures|notices|pools)\\.ts$",
          "^shared/adapters/aws/calls\\.ts$",
        ],
      },
    },
    {
      name: "twins-do-not-know-each-other",
      comment:
        "Two adapters of one port stand side by side with the same shape. What both need is a third file, or the port is wrong.",
      severity: "error",
      from: {
        path: "^shared/adapters/([^/]+)/(postgres|sqs|url|embedded|rds|openai|anthropic|bedrock|script|docker|bubblewrap|s3)\\.ts$",
      },
      to: {
        path: "^shared/adapters/$1/(postgres|sqs|url|embedded|rds|openai|anthropic|bedrock|script|docker|bubblewrap|s3)\\.ts$",
        pathNot: "^shared/adapters/$1/$2\\.ts$",
      },
    },
    layer(
      "sql-imports-little",
      "shared/sql",
      ["shared/core/", "shared/sql/"],
      "SQL has one home. It is text with parameters: no one else's types belong into it.",
    ),
    layer(
      "authoring-is-what-authors-see",
      "shared/authoring",
      ["shared/core/", "shared/ports/", "shared/authoring/"],
      "An author's tools and workflows run in tests, in the dev server and on AWS: what they import may not bring a database along.",
    ),
    layer(
      "http-calls-the-engine",
      "shared/http",
      ["shared/core/", "shared/ports/", "shared/engine/", "shared/http/"],
      "Routes are Request to Response over the engine and its ports, the same in the dev server and behind API Gateway.",
    ),
    layer(
      "client-knows-the-api",
      "shared/client",
      ["shared/client/", "shared/core/", "shared/ports/", "shared/engine/", "shared/http/"],
      "Whoever calls the API over HTTP: programs of users, the command line, the page. It knows answers by their types.",
    ),
    {
      name: "client-takes-types-alone",
      comment:
        "It runs in browsers and in programs of users: fetch and its own few files, no code of the server and no library.",
      severity: "error",
      from: { path: "^shared/client/" },
      to: { pathNot: "^shared/client/", dependencyTypesNot: ["type-only"] },
    },
    layer(
      "functions-are-the-edge",
      "functions",
      ["shared/", "functions/"],
      "Deployed entry points. What they need from a laptop would not be there.",
    ),
    layer(
      "local-is-the-laptop",
      "local",
      ["shared/", "functions/", "local/", "console/build\\.ts$", "agents/"],
      "The dev server feeds the handlers of functions/ and composes the laptop's adapters. It deploys nothing.",
    ),
    layer(
      "cdk-imports-names-and-numbers",
      "cdk",
      ["shared/core/", "shared/ports/", "shared/authoring/", "local/load/", "console/build\\.ts$", "cdk/"],
      "The stack needs the queues' names, the limits, and what agent.yaml says; its build reads agents as a laptop does, so that their code hashes alike. Other code is deployed as bundles, never imported.",
    ),
    layer(
      "console-is-a-client",
      "console",
      ["shared/client/", "shared/http/", "shared/core/", "local/terminal/units\\.ts$", "console/"],
      "The page knows the API's answers, by their types, and the core's words. Numbers look as they do in a terminal, so they are formatted by the same lines.",
    ),
    {
      name: "console-takes-types-of-the-api",
      comment:
        "Code of the server would travel to every browser. What the page needs to run is in the core, or its own.",
      severity: "error",
      from: { path: "^console/", pathNot: "^console/build\\.ts$" },
      to: { path: ["^shared/http/", "node_modules/zod/"], dependencyTypesNot: ["type-only"] },
    },
    layer(
      "agents-import-the-package",
      "agents",
      ["shared/authoring/index\\.ts$", "agents/"],
      "An example agent imports what a user's would: the package's entry, nothing inside.",
    ),
    {
      name: "test-kit-in-tests-only",
      comment: "The test kit brings a database along. What an agent is made of runs without it.",
      severity: "error",
      from: { path: SHIPPED, pathNot: "^local/testing/" },
      to: { path: "^local/testing/" },
    },
    {
      name: "model-server-stands-alone",
      comment:
        "The demo's model is a separate program behind HTTP. It shares no code with the runtime but limits and errors' wording, so it can't know what the runtime expects.",
      severity: "error",
      from: { path: "^local/model-server/" },
      to: { path: OURS, pathNot: ["^local/model-server/", "^shared/core/"] },
    },
    {
      name: "shipped-code-imports-no-test",
      comment: "Tests know the product; the product doesn't know its tests.",
      severity: "error",
      from: { path: SHIPPED },
      to: { path: "^(test|bench)/" },
    },
    {
      name: "shipped-code-needs-no-dev-package",
      comment: "A package under devDependencies isn't installed where the code runs.",
      severity: "error",
      from: { path: SHIPPED },
      to: { dependencyTypes: ["npm-dev"], pathNot: ["node_modules/@types/"] },
    },
    {
      name: "packages-are-declared",
      comment: "A package that only happens to be installed can vanish with the next install.",
      severity: "error",
      from: {},
      to: { dependencyTypes: ["npm-no-pkg", "npm-unknown"] },
    },
    {
      name: "imports-resolve",
      comment: "A path that leads nowhere. (`aws-lambda` is types alone: @types/aws-lambda.)",
      severity: "error",
      from: {},
      to: { couldNotResolve: true, pathNot: "^aws-lambda$" },
    },
    {
      name: "no-cycle",
      comment: "Modules in a circle are one module, and depend on the order in which they load.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "no-orphan",
      comment: "A file that nobody imports and that imports nothing is dead, or an entry point: then it is named here.",
      severity: "error",
      from: {
        orphan: true,
        path: SHIPPED,
        pathNot: [
          "^local/toren\\.mjs$",
          "^console/css\\.d\\.ts$",
          "^cdk/(worker-boot|unbuilt/index)\\.mjs$",
          "^agents/[^/]+/(tools|workflows/[^/]+)\\.ts$",
        ],
      },
      to: {},
    },
  ],
  options: {
    // TypeScript 7 has no API that dependency-cruiser could parse with; swc reads the same syntax.
    parser: "swc",
    tsPreCompilationDeps: true,
    doNotFollow: { path: "node_modules" },
    exclude: { path: ["^agents/[^/]+/corpus/", "^agents/[^/]+/.*\\.test\\.ts$"] },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "node", "default", "types"],
      extensions: [".ts", ".tsx", ".mjs", ".js", ".json"],
    },
    skipAnalysisNotInRules: true,
  },
};
