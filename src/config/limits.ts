/** Bounds on one configuration. No file that people write comes near them. */
export const limits = {
  /** Characters of one file. */
  maxTextLength: 1_048_576,
  /** Characters of one YAML file: nothing else takes so long to be refused. */
  maxYamlLength: 262_144,
  maxServers: 1_000,
  /** Nesting of objects and arrays. */
  maxDepth: 32,
  /** Values in one file, after what is referred to was put in its place. */
  maxNodes: 100_000,
  /** Arguments, variables, headers, names of one server: each of them. */
  maxItems: 1_000,
  maxNameLength: 128,
  /** Characters of one value after its variables were put in. */
  maxValueLength: 262_144,
} as const;
