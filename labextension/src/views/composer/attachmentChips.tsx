/**
 * The files attached to a prompt that is not sent yet.
 */
import type { Attachment } from '../../protocol/generated';
import { useHost } from '../host';

/** Draws the files by name; each can be removed where that is possible. */
export function AttachmentChips({
  files,
  onLeaveOut
}: {
  files: readonly Attachment[];
  onLeaveOut?: (index: number) => void;
}) {
  const { words } = useHost();
  return files.length === 0 ? null : (
    <ul
      className="plm-AttachmentChips"
      aria-label={words.__('Files that go along')}
    >
      {files.map(({ filename, mime }, index) => {
        const name = filename ?? mime;
        return (
          <li key={index} className="plm-Chip">
            {name}
            {onLeaveOut !== undefined && (
              <button
                type="button"
                className="plm-Link"
                aria-label={words.__('Remove %1', name)}
                onClick={() => {
                  onLeaveOut(index);
                }}
              >
                ×
              </button>
            )}
          </li>
        );
      })}
    </ul>
  );
}
