// What the everything fixture must answer, whoever asks and however.

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const wav = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

const picture = { type: "image", data: png, mimeType: "image/png" };

/** Tools that take nothing, ask nothing, and always say the same. */
export const plainTools: readonly (readonly [name: string, content: readonly object[]])[] = [
  ["test_simple_text", [{ type: "text", text: "This is a simple text response for testing." }]],
  ["test_image_content", [picture]],
  ["test_audio_content", [{ type: "audio", data: wav, mimeType: "audio/wav" }]],
  [
    "test_embedded_resource",
    [
      {
        type: "resource",
        resource: {
          uri: "test://embedded-resource",
          mimeType: "text/plain",
          text: "This is an embedded resource content.",
        },
      },
    ],
  ],
  [
    "test_multiple_content_types",
    [
      { type: "text", text: "Multiple content types test:" },
      picture,
      {
        type: "resource",
        resource: {
          uri: "test://mixed-content-resource",
          mimeType: "application/json",
          text: '{"test":"data","value":123}',
        },
      },
    ],
  ],
];

/** Resources by URI, as they are read. */
export const resources: readonly (readonly [uri: string, contents: object])[] = [
  ["test://static-text", { mimeType: "text/plain", text: "This is the content of the static text resource." }],
  ["test://static-binary", { mimeType: "image/png", blob: png }],
  [
    "test://template/123/data",
    { mimeType: "application/json", text: '{"id":"123","templateTest":true,"data":"Data for ID: 123"}' },
  ],
];

/** Prompts that ask nothing, with their arguments and their messages. */
export const prompts: readonly (readonly [name: string, args: Record<string, string>, messages: readonly object[]])[] =
  [
    ["test_simple_prompt", {}, [said("This is a simple prompt for testing.")]],
    [
      "test_prompt_with_arguments",
      { arg1: "one", arg2: "two" },
      [said("Prompt with arguments: arg1='one', arg2='two'")],
    ],
    [
      "test_prompt_with_embedded_resource",
      { resourceUri: "test://example" },
      [
        {
          role: "user",
          content: {
            type: "resource",
            resource: {
              uri: "test://example",
              mimeType: "text/plain",
              text: "Embedded resource content for testing.",
            },
          },
        },
        said("Please process the embedded resource above."),
      ],
    ],
    ["test_prompt_with_image", {}, [{ role: "user", content: picture }, said("Please analyze the image above.")]],
  ];

/** The lists of the fixture before anything changed them. */
export const listed = {
  resources: ["test://static-text", "test://static-binary", "test://watched-resource"],
  templates: ["test://template/{id}/data"],
  prompts: [...prompts.map(([name]) => name), "test_input_required_result_prompt"],
} as const;

/** The form of the tool that asks with every kind of choice. */
export const choices = {
  untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
  titledSingle: {
    type: "string",
    oneOf: [
      { const: "value1", title: "First Option" },
      { const: "value2", title: "Second Option" },
      { const: "value3", title: "Third Option" },
    ],
  },
  legacyEnum: {
    type: "string",
    enum: ["opt1", "opt2", "opt3"],
    enumNames: ["Option One", "Option Two", "Option Three"],
  },
  untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
  titledMulti: { type: "array", items: { anyOf: [{ const: "value1", title: "First Option" }, {}, {}] } },
};

/** A way to fill the form with every kind of choice. */
export const chosen = {
  untitledSingle: "option1",
  titledSingle: "value2",
  legacyEnum: "opt3",
  untitledMulti: ["option1", "option2"],
  titledMulti: ["value1", "value3"],
};

/** What fills the form with defaults when the user touches nothing. */
export const defaults = { name: "John Doe", age: 30, score: 95.5, status: "active", verified: true };

function said(text: string): object {
  return { role: "user", content: { type: "text", text } };
}
