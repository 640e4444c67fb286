/**
 * JSON schema on standard input, TypeScript on standard output.
 *
 * scripts/protocol.py at the root makes the schema and says where the text goes.
 */
import { text as readText } from 'node:stream/consumers';
import { compile } from 'json-schema-to-typescript';

const HEAD = `/**
 * The protocol's values, written by \`make protocol\` from the pydantic ones. Do not edit.
 */
`;

// Not by readFileSync: a pipe whose writer is slow has nothing to read yet, which it takes for an error.
const schema = JSON.parse(await readText(process.stdin));
const text = await compile(schema, 'Protocol', {
  additionalProperties: false,
  bannerComment: HEAD,
  format: true,
  style: { singleQuote: true, trailingComma: 'none', arrowParens: 'avoid' },
  unreachableDefinitions: false
});
process.stdout.write(
  text
    // The union of everything only served to reach every definition.
    .replace(/export type Protocol =[^;]*;\n/, '')
    .replace(/\/\*\*\n *\* (.{1,110})\n *\*\/\n/g, '/** $1 */\n')
);
