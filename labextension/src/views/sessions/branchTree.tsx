/** Which branch was forked from which, and where, as a nested list. */
import type { Branch } from '../../protocol/generated';
import { useHost, type IWords } from '../host';
import { sessionTitle } from './sessionLabels';

interface IBranchTreeProps {
  branches: readonly Branch[];
  /** The session that was asked about. */
  session: string;
}

/** Draws the branches below each other, each within the one that it was forked from. */
export function BranchTree({ branches, session }: IBranchTreeProps) {
  const { words } = useHost();
  const listedIds = new Set(branches.map(branch => branch.session));
  const roots = branches.filter(branch => !listedIds.has(branch.parent));
  return (
    <div
      className="plm-Branches-tree"
      role="group"
      aria-label={words.__('Which was forked from which')}
    >
      <Level branches={branches} level={roots} session={session} />
    </div>
  );
}

function Level(props: {
  branches: readonly Branch[];
  level: readonly Branch[];
  session: string;
}) {
  const { branches, level, session } = props;
  const { words } = useHost();
  return (
    <ul>
      {level.map(branch => {
        const forks = branches.filter(other => other.parent === branch.session);
        return (
          <li key={branch.session}>
            <span
              dir="auto"
              aria-current={branch.session === session ? 'true' : undefined}
            >
              {sessionTitle(branch.title, words)}
            </span>{' '}
            <span className="plm-Muted">{forkedAfter(branch, words)}</span>
            {forks.length > 0 && (
              <Level branches={branches} level={forks} session={session} />
            )}
          </li>
        );
      })}
    </ul>
  );
}

/** Returns where a branch was forked from its parent; empty for one without a parent. */
function forkedAfter(
  { forked_after: requestNumber, parent }: Branch,
  words: IWords
): string {
  if (parent === '') {
    return '';
  }
  return requestNumber === 0
    ? words.__('forked before the first request')
    : words.__('forked after request %1', requestNumber);
}
