/** The name of one of two compared sessions, with the line that stands for it in the pictures. */
import type { ComparedSession } from '../../../protocol/generated';
import type { ComparedSide } from '../../../state/inspector/source';
import { oneLine } from '../../../state/text/oneLine';
import { useHost } from '../../host';

export const COMPARED_SIDES: readonly ComparedSide[] = ['first', 'second'];

/** Draws the line and the name; in the head of a column, which is narrow, without the title. */
export function ComparedSideName(props: {
  side: ComparedSide;
  session: ComparedSession;
  isColumnHead?: boolean;
}) {
  const { side, session, isColumnHead = false } = props;
  const { words } = useHost();
  const title = oneLine(session.title) || session.session;
  return (
    <span
      className="plm-Compared-name"
      title={isColumnHead ? title : undefined}
    >
      <svg width="22" height="8" aria-hidden="true">
        <path className="plm-Compared-line" data-side={side} d="M0 4H22" />
      </svg>
      {isColumnHead ? (
        <>{side === 'first' ? words.__('first') : words.__('second')}</>
      ) : (
        <span>
          {side === 'first' ? words.__('first:') : words.__('second:')}{' '}
          <bdi title={title}>{title}</bdi>
        </span>
      )}
    </span>
  );
}
