/** The branches of a session side by side, from the point where they part. */
import { useEffect, useState } from 'react';
import type { Branch, BranchTable } from '../../protocol/generated';
import { useInspectorOpener } from '../actions/inspector';
import { useSessionActions, useSessionOpener } from '../actions/sessions';
import { LinkButton } from '../controls/buttons';
import { TextDifference } from '../controls/diff';
import { Disclosure } from '../controls/disclosure';
import { useHost } from '../host';
import { BranchSizes } from './branchSizes';
import { BranchTree } from './branchTree';
import { sessionTitle } from './sessionLabels';
import { unlessGone, useFirstFocus } from '../dom/effects';

/** Asks for the branches of a session, and draws them. */
export function BranchView(props: { session: string; onBack: () => void }) {
  const { session, onBack } = props;
  const { words } = useHost();
  const sessions = useSessionActions();
  const [tableOrError, setTable] = useState<BranchTable | string | null>(null);
  const closeButtonRef = useFirstFocus<HTMLButtonElement>();
  useEffect(
    () => unlessGone(sessions.branches(session), setTable),
    [sessions, session]
  );
  return (
    <section className="plm-Branches" aria-label={words.__('Branches')}>
      {tableOrError === null && (
        <p className="plm-Muted" role="status">
          {words.__('Reading the branches…')}
        </p>
      )}
      {typeof tableOrError === 'string' && (
        <p className="plm-Muted" role="alert">
          {tableOrError}
        </p>
      )}
      {tableOrError !== null && typeof tableOrError !== 'string' && (
        <Branches table={tableOrError} session={session} />
      )}
      <button
        type="button"
        ref={closeButtonRef}
        className="plm-Button"
        onClick={onBack}
      >
        {words.__('Close')}
      </button>
    </section>
  );
}

function Branches({ table, session }: { table: BranchTable; session: string }) {
  const { words } = useHost();
  const { branches, left_out: leftOut, parted_at: partedAt } = table;
  const names = branches.map(branch => sessionTitle(branch.title, words));
  const maxTokens = Math.max(1, ...branches.flatMap(branch => branch.sizes));
  const [first, ...others] = branches;
  const comparisons = others.map(branch => ({
    branch,
    other: branches.find(other => other.session === branch.parent) ?? first
  }));
  return (
    <>
      {branches.length > 2 && (
        <BranchTree branches={branches} session={session} />
      )}
      <div
        className="plm-Branches-table"
        role="group"
        aria-label={words.__('Branches side by side')}
        // Many branches scroll sideways, also by keyboard.
        tabIndex={0}
      >
        <table>
          <caption>
            {partedAt === 0
              ? words.__('Branches that share no request')
              : words.__('Branches that part after request %1', partedAt)}
          </caption>
          <thead>
            <tr>
              <td />
              {branches.map((branch, index) => (
                <BranchHead
                  key={branch.session}
                  branch={branch}
                  name={names[index] ?? ''}
                  isAskedAbout={branch.session === session}
                  comparedBranch={branch === first ? undefined : first}
                />
              ))}
            </tr>
          </thead>
          <tbody>
            <tr>
              <th scope="row">{words.__('newest answer')}</th>
              {branches.map(branch => (
                <td key={branch.session}>
                  <div className="plm-Branches-answer" dir="auto">
                    {branch.text === '' ? words.__('none yet') : branch.text}
                  </div>
                </td>
              ))}
            </tr>
            {table.figures
              .filter(({ values }) => values.some(value => value !== ''))
              .map(({ name, values, branches_differ: branchesDiffer }) => (
                <tr key={name} data-differ={branchesDiffer || undefined}>
                  <th scope="row">
                    {name}{' '}
                    {branchesDiffer && (
                      <span className="plm-Branches-differ">
                        {words.__('differs')}
                      </span>
                    )}
                  </th>
                  {values.map((value, index) => (
                    <td key={branches[index]?.session}>{value || '–'}</td>
                  ))}
                </tr>
              ))}
            <tr>
              <th scope="row">{words.__('context by request')}</th>
              {branches.map(branch => (
                <td key={branch.session}>
                  <BranchSizes branch={branch} maxTokens={maxTokens} />
                </td>
              ))}
            </tr>
          </tbody>
        </table>
      </div>
      {leftOut > 0 && (
        <p className="plm-Muted">
          {words.__('%1 older branches are not shown.', leftOut)}
        </p>
      )}
      {comparisons.map(
        ({ other, branch }) =>
          other !== undefined && (
            <Disclosure
              key={branch.session}
              className="plm-Branches-difference"
              head={words.__(
                'How the answer of %1 differs from that of %2',
                sessionTitle(branch.title, words),
                sessionTitle(other.title, words)
              )}
            >
              <TextDifference
                before={other.text}
                now={branch.text}
                sameWords={words.__('Both answers are the same.')}
              />
            </Disclosure>
          )
      )}
    </>
  );
}

/** Draws a branch's name, and the buttons that open it. */
function BranchHead(props: {
  branch: Branch;
  name: string;
  /** Whether it is the session that was asked about. */
  isAskedAbout: boolean;
  /** The branch that it is compared with in the inspector. */
  comparedBranch: Branch | undefined;
}) {
  const { isAskedAbout, branch, name, comparedBranch } = props;
  const { words } = useHost();
  const inspector = useInspectorOpener();
  const opener = useSessionOpener();
  return (
    <th scope="col">
      <span className="plm-Branches-name" dir="auto">
        {name}
      </span>
      {isAskedAbout ? (
        <span className="plm-Muted">{words.__('this session')}</span>
      ) : (
        <LinkButton
          aria-label={words.__('Open %1', name)}
          onClick={() => {
            opener.open(branch.session);
          }}
        >
          {words.__('Open')}
        </LinkButton>
      )}
      {comparedBranch !== undefined && inspector?.compare !== undefined && (
        <LinkButton
          aria-label={words.__('Inspect %1 beside the first', name)}
          onClick={() => {
            inspector.compare?.(comparedBranch.session, branch.session);
          }}
        >
          {words.__('Inspect both')}
        </LinkButton>
      )}
    </th>
  );
}
