import { createEnvSecrets } from "../../../shared/adapters/secrets/env.ts";
import { GIVEN, secretsConformance } from "../../conformance/secrets.ts";

secretsConformance("secrets of a laptop", async () => createEnvSecrets({ ...GIVEN, UNSET: undefined }));
