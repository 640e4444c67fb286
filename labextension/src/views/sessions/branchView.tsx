/**
 * The branches of a session side by side, from the point where they part.
 */
import { useEffect, useRef, useState } from 'react';
import type { Branch, BranchTable } from '../../protocol/generated';
import { lineDiff } from '../../state/display/lineDiff';
import { useInspectorOpener } from '../actions/inspector';
import { useSessionActions, useSessionOpener } from '../actions/sessions';
import { Diff } from '../controls/diff';
import { Disclosure } from '../controls/disclosure';
import { useHost, type IWords } from '../host';
import { BranchSizes } from './branchSizes';
import { BranchTree } from './branchTree';
import { sessionTitle } from './sessionLabels';

/** Asks for the branches of a session, and draws them. */
export function BranchView({
  session,
  onBack
}: {
  session: string;
  onBack: () => void;
}) {
  const { words } = useHost();
  const sessions = useSessionActions();
  const [found, setFound] = useState<BranchTable | string | null>(null);
  const close = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    close.current?.focus();
  }, []);
  useEffect(() => {
    let wanted = true;
    void sessions.branches(session).then(table => {
      if (wanted) {
        setFound(table);
      }
    });
    return () => {
      wanted = false;
    };
  }, [sessions, session]);
  return (
    <section className="plm-Branches" aria-label={words.__('Branches')}>
      {found === null && (
        <p className="plm-Muted" role="status">
          {words.__('Reading the branches…')}
        </p>
      )}
      {typeof found === 'string' && (
        <p className="plm-Muted" role="alert">
          {found}
        </p>
      )}
      {found !== null && typeof found !== 'string' && (
        <Branches table={found} session={session} />
      )}
      <button type="button" ref={close} className="plm-Button" onClick={onBack}>
        {words.__('Close')}
      </button>
    </section>
  );
}

function Branches({ table, session }: { table: BranchTable; session: string }) {
  const { words } = useHost();
  const { branches, left_out: leftOut, parted_at: partedAt } = table;
  const names = branches.map(one => sessionTitle(one.title, words));
  const most = Math.max(1, ...branches.flatMap(one => one.sizes));
  const [first, ...others] = branches;
  const compared = others.map(one => ({
    one,
    before: branches.find(other => other.session === one.parent) ?? first
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
              {branches.map((one, index) => (
                <BranchHead
                  key={one.session}
                  branch={one}
                  name={names[index] ?? ''}
                  asked={one.session === session}
                  with={one === first ? undefined : first}
                />
              ))}
            </tr>
          </thead>
          <tbody>
            <tr>
              <th scope="row">{words.__('newest answer')}</th>
              {branches.map(one => (
                <td key={one.session}>
                  <div className="plm-Branches-answer" dir="auto">
                    {one.text === '' ? words.__('none yet') : one.text}
                  </div>
                </td>
              ))}
            </tr>
            {table.figures
              .filter(({ values }) => values.some(one => one !== ''))
              .map(({ name, values, differ }) => (
                <tr key={name} data-differ={differ || undefined}>
                  <th scope="row">
                    {name}{' '}
                    {differ && (
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
              {branches.map(one => (
                <td key={one.session}>
                  <BranchSizes branch={one} most={most} />
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
      {compared.map(
        ({ before, one }) =>
          before !== undefined && (
            <AnswerDifference
              key={one.session}
              head={words.__(
                'How the answer of %1 differs from that of %2',
                sessionTitle(one.title, words),
                sessionTitle(before.title, words)
              )}
              before={before}
              now={one}
            />
          )
      )}
    </>
  );
}

/** Draws a branch's name, and the buttons that open it. */
function BranchHead({
  asked,
  branch,
  name,
  with: first
}: {
  branch: Branch;
  name: string;
  /** Whether it is the session that was asked about. */
  asked: boolean;
  /** The branch that it is compared with in the inspector. */
  with: Branch | undefined;
}) {
  const { words } = useHost();
  const inspector = useInspectorOpener();
  const opener = useSessionOpener();
  return (
    <th scope="col">
      <span className="plm-Branches-name" dir="auto">
        {name}
      </span>
      {asked ? (
        <span className="plm-Muted">{words.__('this session')}</span>
      ) : (
        <button
          type="button"
          className="plm-Link"
          aria-label={words.__('Open %1', name)}
          onClick={() => {
            opener.open(branch.session);
          }}
        >
          {words.__('Open')}
        </button>
      )}
      {first !== undefined && inspector?.compare !== undefined && (
        <button
          type="button"
          className="plm-Link"
          aria-label={words.__('Inspect %1 beside the first', name)}
          onClick={() => {
            inspector.compare?.(first.session, branch.session);
          }}
        >
          {words.__('Inspect both')}
        </button>
      )}
    </th>
  );
}

function AnswerDifference({
  before,
  head,
  now
}: {
  head: string;
  before: Branch;
  now: Branch;
}) {
  const { words } = useHost();
  return (
    <Disclosure className="plm-Branches-difference" head={head}>
      <Difference text={lineDiff(before.text, now.text)} words={words} />
    </Disclosure>
  );
}

function Difference({ text, words }: { text: string; words: IWords }) {
  return text === '' ? (
    <p className="plm-Muted">{words.__('Both answers are the same.')}</p>
  ) : (
    <Diff text={text} />
  );
}
