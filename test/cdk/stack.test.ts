// What holds of every kind of installation: the rules lie in rules/, in one test file so that a template is made once.
import "./rules/queues.ts";
import "./rules/functions.ts";
import "./rules/connections.ts";
import "./rules/database.ts";
import "./rules/network.ts";
import "./rules/long-work.ts";
import "./rules/api.ts";
import "./rules/alarms.ts";
import "./rules/profile-change.ts";
import "./rules/names.ts";
import "./rules/options.ts";
