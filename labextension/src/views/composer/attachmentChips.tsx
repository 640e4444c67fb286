/** The files attached to a prompt that is not sent yet. */
import type { Attachment } from '../../protocol/generated';
import { visibleText } from '../../state/text/visibleText';
import { fileNote, type FileDescriptions } from './pastedFiles';
import { LinkButton } from '../controls/buttons';
import { useHost } from '../host';

/** Draws the files by name; each can be removed where that is possible. */
export function AttachmentChips(props: {
  files: readonly Attachment[];
  /** The kernel's descriptions of the files, by their URL. */
  descriptions?: FileDescriptions;
  onLeaveOut?: (index: number) => void;
}) {
  const { files, descriptions, onLeaveOut } = props;
  const { words } = useHost();
  return files.length === 0 ? null : (
    <ul
      className="plm-AttachmentChips"
      aria-label={words.__('Files that go along')}
    >
      {files.map(({ filename, mime, url }, index) => {
        const name = visibleText(filename ?? mime);
        const description = descriptions?.get(url);
        const note = fileNote(description, words);
        return (
          <li
            key={index}
            className="plm-Chip plm-MentionChip"
            data-stays={description?.unseen === true ? true : undefined}
          >
            <span>{name}</span>
            {note !== '' && <span className="plm-Muted"> · {note}</span>}
            {onLeaveOut !== undefined && (
              <LinkButton
                aria-label={words.__('Remove %1', name)}
                onClick={() => {
                  onLeaveOut(index);
                }}
              >
                ×
              </LinkButton>
            )}
          </li>
        );
      })}
    </ul>
  );
}
