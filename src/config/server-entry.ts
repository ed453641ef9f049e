import type { JsonObject } from "../json/json.ts";
import type { DialectName } from "./dialects.ts";
import type { SourceLocation } from "./problem.ts";

/** A server of a configuration, whichever dialect it was written in. Variables are put in. */
export interface ServerEntry {
  /** Not empty, and without `:` and control characters. */
  readonly name: string;
  /** What `connect` takes. */
  readonly target: CommandTarget | UrlTarget | OpenApiTarget | ModuleTarget;
  /** A server that is switched off may have variables left in its texts. */
  readonly enabled: boolean;
  readonly description?: string;
  readonly connectTimeoutMs?: number;
  readonly callTimeoutMs?: number;
  readonly tools?: ToolFilter;
  /** `false` when the file forbids to sign in. */
  readonly oauth?: OAuthSettings | false;
  /** Tools that the file allows to run without asking: all of them, or those with these names. */
  readonly trust?: "all" | readonly string[];
  /** The file that more variables of the program came from. They are in `target.env` already. */
  readonly envFile?: string;
  /** Where all of this was said. */
  readonly origin: ServerOrigin;
}

/** A program to start. */
export interface CommandTarget {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Names of variables to pass on. */
  readonly inheritEnv?: readonly string[];
}

/** A server at a URL. */
export interface UrlTarget {
  readonly url: string;
  /** Absent when it has to be found out. */
  readonly type?: "http" | "sse";
  readonly headers?: Readonly<Record<string, string>>;
}

/** An API that an OpenAPI document describes. */
export interface OpenApiTarget {
  readonly type: "openapi";
  /** A URL, or the path of a file. */
  readonly document: string;
  /** Absent when the document says where its server is. */
  readonly baseUrl?: string;
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** A module whose exported functions are tools. */
export interface ModuleTarget {
  readonly type: "module";
  /** The path of a file. */
  readonly module: string;
}

/** Tools that are visible. `*` matches any characters. `deny` takes precedence over `allow`. */
export interface ToolFilter {
  /** Absent: all of them. */
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
}

/** How to sign in. All of it is found out where it is not said. */
export interface OAuthSettings {
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly scopes?: readonly string[];
  readonly callbackPort?: number;
  readonly redirectUri?: string;
  readonly authorizationUrl?: string;
  readonly tokenUrl?: string;
  /** Where the metadata of the authorization server is. */
  readonly metadataUrl?: string;
  readonly resource?: string;
}

/** Where a server was defined, and how it was read. Contains no secrets. */
export interface ServerOrigin {
  readonly name: string;
  readonly dialect: DialectName;
  readonly place: SourceLocation;
  readonly fields: readonly FieldOrigin[];
  /** What has no meaning here, or was not understood. */
  readonly ignored: readonly IgnoredField[];
  /** Entries of the same name in other files that this one replaces. */
  readonly replaces: readonly SourceLocation[];
}

export interface FieldOrigin {
  /** Such as `command`, `args[0]` or `env.API_KEY`. */
  readonly field: string;
  /** The value as it may be shown. */
  readonly shown: string;
  /** Whether something of it is hidden. */
  readonly secret: boolean;
  readonly place: SourceLocation;
  /** The variables and inputs that were put in. */
  readonly variables: readonly string[];
}

export interface IgnoredField {
  readonly field: string;
  readonly place: SourceLocation;
}

/** A change of one server. An entry is written in the dialect of the file. */
export type ConfigEdit =
  | { readonly type: "set"; readonly name: string; readonly entry: JsonObject }
  | { readonly type: "remove"; readonly name: string };

/** An edit, and the names of what the servers are in. */
export type RootedEdit = ConfigEdit & { readonly root: readonly string[] };
