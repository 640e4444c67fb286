/**
 * A part that is a line of its own: a file, an agent that was named, what was handed on or changed.
 *
 * Who adds a type of part draws it here; until then this does not compile.
 */
import { unknownKind } from '../../protocol/unknownKind';
import type { StandalonePart } from '../../state/display/lines';
import { AttachmentView } from './attachments';
import { useHost, type IWords } from '../host';

/** Draws one part. */
export function StandalonePartView({ part }: { part: StandalonePart }) {
  const { words } = useHost();
  if (part.type === 'file') {
    return <AttachmentView file={part} />;
  }
  const told = standalonePartText(part, words);
  return told === '' ? null : <p className="plm-Muted">{told}</p>;
}

/** Says what one part tells. */
export function standalonePartText(
  part: StandalonePart,
  words: IWords
): string {
  switch (part.type) {
    case 'file':
      return part.filename ?? part.mime;
    case 'patch':
      return words.__('Changed: %1', listed(part.files, words));
    case 'agent':
      return words.__('Agent: %1', part.name);
    case 'subtask':
      return words.__('Handed to %1: %2', part.agent, part.description);
    default:
      return unknownKind(part, '');
  }
}

/** So many files are named; the rest is counted. */
const MOST_FILES = 6;

function listed(files: readonly string[], words: IWords): string {
  const names = files.slice(0, MOST_FILES).join(', ');
  return files.length > MOST_FILES
    ? words.__('%1 and %2 more', names, files.length - MOST_FILES)
    : names;
}
