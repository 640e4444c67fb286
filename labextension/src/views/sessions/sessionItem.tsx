/** One session in the list, with its actions. */
import { useEffect, useId, useRef, useState } from 'react';
import type { SessionSummary } from '../../protocol/generated';
import { OutlinedButton } from '../controls/buttons';
import { useHost } from '../host';
import { BranchView } from './branchView';
import { ExportDialog } from './importExport';
import { useInspectorOpener } from '../actions/inspector';
import { useSessionActions, useSessionOpener } from '../actions/sessions';
import { useSharingActionsIfOffered } from '../actions/sharing';
import { sessionSummary, sessionTitle } from './sessionLabels';
import { SharePage } from './sharePage';
import { useFirstFocus } from '../dom/effects';

interface ISessionItemProps {
  row: SessionSummary;
  isCurrent: boolean;
  /** Called when the user switched to another session. */
  onChosen: () => void;
  /** Called when the list of sessions has changed. */
  onChanged: () => void;
}

type OpenAction =
  | 'nothing'
  | 'choosing'
  | 'branches'
  | 'naming'
  | 'sharing'
  | 'exporting'
  | 'deleting';

/** Draws a session's line; its second button opens the actions. */
export function SessionItem(props: ISessionItemProps) {
  const { row, isCurrent, onChosen, onChanged } = props;
  const { Icon, words } = useHost();
  const sessions = useSessionActions();
  const opener = useSessionOpener();
  const sharing = useSharingActionsIfOffered();
  const inspector = useInspectorOpener();
  const [openAction, setOpenAction] = useState<OpenAction>('nothing');
  const moreButtonRef = useRef<HTMLButtonElement>(null);
  const lineRef = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isCurrent) {
      lineRef.current?.scrollIntoView({ block: 'nearest' });
    }
  }, [isCurrent]);
  const actionsId = useId();
  const title = sessionTitle(row.title, words);
  const isArchived = row.archived !== undefined;
  const closeActions = () => {
    setOpenAction('nothing');
    moreButtonRef.current?.focus();
  };
  /** Waits for an action; the list is requested again when it succeeded. */
  const closeAndWait = (outcome: Promise<string>) => {
    closeActions();
    void outcome.then(problem => {
      if (problem === '') {
        onChanged();
      }
    });
  };
  const openHandler = (action: OpenAction) => () => {
    setOpenAction(action);
  };
  const actions: readonly SessionAction[] = [
    [words.__('Rename'), openHandler('naming')],
    [
      words.__('Fork'),
      () => {
        sessions.fork(row.id);
        onChosen();
      }
    ],
    [words.__('Compare branches'), openHandler('branches')],
    ...(inspector === null
      ? []
      : [
          [
            words.__('Inspect the context'),
            () => {
              inspector.inspect({ session: row.id });
              closeActions();
            }
          ] as const
        ]),
    ...(sharing === null
      ? []
      : [
          [words.__('Share'), openHandler('sharing')] as const,
          [words.__('Export'), openHandler('exporting')] as const
        ]),
    [
      isArchived ? words.__('Unarchive') : words.__('Archive'),
      () => {
        closeAndWait(sessions.archive(row.id, !isArchived));
      }
    ],
    [words.__('Delete'), openHandler('deleting')]
  ];
  return (
    <li
      ref={lineRef}
      className="plm-Sessions-item"
      onKeyDown={event => {
        if (event.key === 'Escape' && openAction !== 'nothing') {
          event.stopPropagation();
          closeActions();
        }
      }}
    >
      <div className="plm-Sessions-line">
        <button
          type="button"
          className="plm-Sessions-row"
          aria-current={isCurrent}
          title={title}
          onClick={() => {
            if (!isCurrent) {
              opener.open(row.id);
            }
            onChosen();
          }}
        >
          <span className="plm-Sessions-title">{title}</span>{' '}
          {row.about !== '' && (
            <span className="plm-Muted plm-Sessions-about" title={row.about}>
              {row.about}
            </span>
          )}
          <span className="plm-Muted">{sessionSummary(row, words)}</span>
        </button>
        <button
          type="button"
          ref={moreButtonRef}
          className="plm-Sessions-more"
          aria-expanded={openAction !== 'nothing'}
          aria-controls={actionsId}
          aria-label={words.__('What to do with %1', title)}
          title={words.__(
            'Rename, fork, compare branches, inspect, share, export, archive, delete'
          )}
          onClick={() => {
            setOpenAction(openAction === 'nothing' ? 'choosing' : 'nothing');
          }}
        >
          <Icon name={openAction === 'nothing' ? 'fold' : 'unfold'} />
        </button>
      </div>
      <div
        id={actionsId}
        className="plm-Sessions-actions"
        hidden={openAction === 'nothing'}
      >
        {openAction === 'choosing' && <ActionButtons actions={actions} />}
        {openAction === 'branches' && (
          <BranchView session={row.id} onBack={closeActions} />
        )}
        {openAction === 'naming' && (
          <RenameForm
            title={title}
            onName={name => {
              closeAndWait(sessions.rename(row.id, name));
            }}
            onBack={closeActions}
          />
        )}
        {openAction === 'sharing' && sharing !== null && (
          <SharePage
            session={row.id}
            isShared={row.shared}
            onBack={closeActions}
            onChanged={onChanged}
          />
        )}
        {openAction === 'exporting' && sharing !== null && (
          <ExportDialog session={row.id} onBack={closeActions} />
        )}
        {openAction === 'deleting' && (
          <DeleteConfirmation
            title={title}
            onDelete={() => {
              closeAndWait(sessions.delete(row.id));
            }}
            onBack={closeActions}
          />
        )}
      </div>
    </li>
  );
}

type SessionAction = readonly [name: string, onDo: () => void];

function ActionButtons({ actions }: { actions: readonly SessionAction[] }) {
  return actions.map(([name, onDo]) => (
    <ActionButton key={name} onDo={onDo}>
      {name}
    </ActionButton>
  ));
}

function ActionButton(props: { onDo: () => void; children: string }) {
  const { onDo, children } = props;
  return (
    <OutlinedButton className="plm-ActionButton" onClick={onDo}>
      {children}
    </OutlinedButton>
  );
}

interface INamingProps {
  title: string;
  onName: (name: string) => void;
  onBack: () => void;
}

function RenameForm({ title, onName, onBack }: INamingProps) {
  const { words } = useHost();
  const [name, setName] = useState(title);
  const fieldRef = useRef<HTMLInputElement>(null);
  useEffect(() => {
    fieldRef.current?.select();
  }, []);
  return (
    <form
      className="plm-Sessions-naming"
      onSubmit={event => {
        event.preventDefault();
        if (name.trim() !== '') {
          onName(name.trim());
        }
      }}
    >
      <input
        ref={fieldRef}
        className="plm-Field"
        aria-label={words.__('New title')}
        maxLength={100}
        value={name}
        onChange={event => {
          setName(event.target.value);
        }}
      />
      <button
        type="submit"
        className="plm-Button"
        data-main
        disabled={name.trim() === ''}
      >
        {words.__('Rename')}
      </button>
      <ActionButton onDo={onBack}>{words.__('Cancel')}</ActionButton>
    </form>
  );
}

interface IDeletingProps {
  title: string;
  onDelete: () => void;
  onBack: () => void;
}

function DeleteConfirmation({ title, onDelete, onBack }: IDeletingProps) {
  const { words } = useHost();
  const keepButtonRef = useFirstFocus<HTMLButtonElement>();
  return (
    <div
      role="group"
      className="plm-Sessions-deleting"
      aria-label={words.__('Delete %1?', title)}
    >
      <p>
        {words.__(
          'Delete “%1” and what its tasks began, for good? Forks of it are kept.',
          title
        )}
      </p>
      <button
        type="button"
        ref={keepButtonRef}
        className="plm-Button"
        onClick={onBack}
      >
        {words.__('Keep it')}
      </button>
      <OutlinedButton className="plm-ActionButton-final" onClick={onDelete}>
        {words.__('Delete for good')}
      </OutlinedButton>
    </div>
  );
}
