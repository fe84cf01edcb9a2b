/** The libraries that the page is made of. Versions come from package.json when it is built. */
import { dependencies } from "../../package.json";

/** All others are under the MIT licence. */
const LICENCES: Record<string, string> = { echarts: "Apache-2.0", yaml: "ISC" };

export const libraries = Object.entries(dependencies).map(([name, version]) => ({
  name,
  version,
  licence: LICENCES[name] ?? "MIT",
}));
