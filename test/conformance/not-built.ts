/** Scenarios of extensions that are not built yet: tasks and skills. */
const extensions = [
  "tasks-capability-negotiation",
  "tasks-dispatch-and-envelope",
  "tasks-lifecycle",
  "tasks-mrtr-composition",
  "tasks-mrtr-input",
  "tasks-request-headers",
  "tasks-request-state-removal",
  "tasks-required-task-error",
  "tasks-status-notifications",
  "tasks-wire-fields",
  "sep-2640-skills-directory",
  "sep-2640-skills-enumeration",
  "sep-2640-skills-manifest",
];

/** What the names of the scenarios of authorization begin with, which is not built yet either. */
const authorization = "auth/";

/** Whether a scenario is about something that is not built yet. Such are not part of the gate. */
export function isNotBuilt(scenario: string): boolean {
  return scenario.startsWith(authorization) || extensions.includes(scenario);
}
