/** Chips for the mentions of a draft: what is sent with it and its tokens, or why it is not sent. */
import type { MentionPreview } from '../../protocol/generated';
import { shortCount } from '../../state/text/numberFormat';
import { useHost, type IWords } from '../host';

/** Draws a chip for each mention of a draft. */
export function MentionChips(props: {
  previews: readonly MentionPreview[];
  id: string;
}) {
  const { previews, id } = props;
  const { words } = useHost();
  return (
    <ul
      id={id}
      className="plm-AttachmentChips"
      aria-label={words.__('What the prompt names')}
      aria-live="polite"
      hidden={previews.length === 0}
    >
      {previews.map(preview => {
        const [mentionText, note, isSent] = chipTexts(preview, words);
        return (
          <li
            key={preview.text}
            className="plm-Chip plm-MentionChip"
            data-stays={isSent ? undefined : true}
          >
            <span>{mentionText}</span>
            {note !== '' && <span className="plm-Muted"> · {note}</span>}
          </li>
        );
      })}
    </ul>
  );
}

/** Returns what a mention names, what becomes of it, and whether it goes along. */
function chipTexts(
  preview: MentionPreview,
  words: IWords
): [string, string, boolean] {
  const mentionText = mentionName(preview, words);
  const { state, text, tokens } = preview;
  switch (state) {
    case 'sent':
      return [
        mentionText,
        tokens === undefined ? '' : words.__('~%1 tokens', shortCount(tokens)),
        true
      ];
    case 'uncounted':
      return [mentionText, words.__('counted when it is sent'), true];
    case 'busy':
      return [mentionText, words.__('counted when the cell has ended'), true];
    case 'asks':
      return [mentionText, words.__('you are asked first'), true];
    case 'unknown':
      return [missingName(preview, words), '', false];
    case 'hidden':
      return [text, words.__('stays here: the cell is hidden'), false];
    case 'denied':
      return [text, words.__('stays here: a rule denies it'), false];
    case 'unreadable':
      return [text, words.__('cannot be read'), false];
    case 'beyond':
      return [text, words.__('stays here: too many mentions'), false];
    default:
      return [text, '', true]; // of a newer kernel
  }
}

function mentionName(
  { kind, name, about }: MentionPreview,
  words: IWords
): string {
  switch (kind) {
    case 'cell':
      return words.__('cell %1 with its outputs', name);
    case 'out':
      return words.__('outputs of cell %1', name);
    case 'error':
      return about === ''
        ? words.__('error of cell %1', name)
        : words.__('error of cell %1: %2', name, about);
    case 'file':
      return words.__('file %1', name);
    case 'variable':
      return about === '' ? name : `${name} ${about}`;
    default:
      return name;
  }
}

function missingName(
  { kind, name, text }: MentionPreview,
  words: IWords
): string {
  switch (kind) {
    case 'cell':
    case 'out':
      return words.__('no cell %1', name);
    case 'error':
      return name === ''
        ? words.__('no error')
        : words.__('no error in cell %1', name);
    case 'file':
      return words.__('no file %1', name);
    case 'variable':
      return words.__('no variable %1', name);
    default:
      return text;
  }
}
