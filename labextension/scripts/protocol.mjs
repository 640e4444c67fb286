/**
 * JSON schema on standard input, TypeScript on standard output.
 *
 * scripts/protocol.py at the root makes the schema and says where the text goes.
 */
import { readFileSync } from 'node:fs';
import { compile } from 'json-schema-to-typescript';

const HEAD = `/**
 * The protocol's values, written by \`make protocol\` from the pydantic ones. Do not edit.
 */
`;

const schema = JSON.parse(readFileSync(0, 'utf8'));
const text = await compile(schema, 'Protocol', {
  additionalProperties: false,
  bannerComment: HEAD,
  format: true,
  style: { singleQuote: true, trailingComma: 'none', arrowParens: 'avoid' },
  unreachableDefinitions: false
});
// The union of everything only served to reach every definition.
process.stdout.write(text.replace(/export type Protocol =[^;]*;\n/, ''));
