/**
 * One session in the list, with its actions.
 */
import { useEffect, useId, useRef, useState } from 'react';
import type { SessionSummary } from '../../protocol/generated';
import { useHost } from '../host';
import { BranchView } from './branchView';
import { ExportDialog } from './importExport';
import { useInspectorOpener } from '../actions/inspector';
import { useSessionActions, useSessionOpener } from '../actions/sessions';
import { useSharingActionsIfOffered } from '../actions/sharing';
import { sessionSummary, sessionTitle } from './sessionLabels';
import { SharePage } from './sharePage';

interface ISessionItemProps {
  row: SessionSummary;
  isCurrent: boolean;
  /** Called when the user switched to another session. */
  onChosen: () => void;
  /** Called when the list of sessions has changed. */
  onChanged: () => void;
}

type Doing =
  | 'nothing'
  | 'choosing'
  | 'branches'
  | 'naming'
  | 'sharing'
  | 'exporting'
  | 'deleting';

/** Draws a session's line; its second button opens the actions. */
export function SessionItem({
  row,
  isCurrent,
  onChosen,
  onChanged
}: ISessionItemProps) {
  const { Icon, words } = useHost();
  const sessions = useSessionActions();
  const opener = useSessionOpener();
  const sharing = useSharingActionsIfOffered();
  const inspector = useInspectorOpener();
  const [doing, setDoing] = useState<Doing>('nothing');
  const more = useRef<HTMLButtonElement>(null);
  const line = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isCurrent) {
      line.current?.scrollIntoView({ block: 'nearest' });
    }
  }, [isCurrent]);
  const id = useId();
  const title = sessionTitle(row.title, words);
  const away = row.archived !== undefined;
  const back = () => {
    setDoing('nothing');
    more.current?.focus();
  };
  /** Waits for an action; the list is requested again when it succeeded. */
  const done = (work: Promise<string>) => {
    back();
    void work.then(hindered => {
      if (hindered === '') {
        onChanged();
      }
    });
  };
  return (
    <li
      ref={line}
      className="plm-Sessions-item"
      onKeyDown={event => {
        if (event.key === 'Escape' && doing !== 'nothing') {
          event.stopPropagation();
          back();
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
          ref={more}
          className="plm-Sessions-more"
          aria-expanded={doing !== 'nothing'}
          aria-controls={id}
          aria-label={words.__('What to do with %1', title)}
          title={words.__(
            'Rename, fork, compare branches, inspect, share, export, archive, delete'
          )}
          onClick={() => {
            setDoing(doing === 'nothing' ? 'choosing' : 'nothing');
          }}
        >
          <Icon name={doing === 'nothing' ? 'fold' : 'unfold'} />
        </button>
      </div>
      <div
        id={id}
        className="plm-Sessions-actions"
        hidden={doing === 'nothing'}
      >
        {doing === 'choosing' && (
          <>
            <ActionButton
              onDo={() => {
                setDoing('naming');
              }}
            >
              {words.__('Rename')}
            </ActionButton>
            <ActionButton
              onDo={() => {
                sessions.fork(row.id);
                onChosen();
              }}
            >
              {words.__('Fork')}
            </ActionButton>
            <ActionButton
              onDo={() => {
                setDoing('branches');
              }}
            >
              {words.__('Compare branches')}
            </ActionButton>
            {inspector !== null && (
              <ActionButton
                onDo={() => {
                  inspector.inspect({ session: row.id });
                  back();
                }}
              >
                {words.__('Inspect the context')}
              </ActionButton>
            )}
            {sharing !== null && (
              <ActionButton
                onDo={() => {
                  setDoing('sharing');
                }}
              >
                {words.__('Share')}
              </ActionButton>
            )}
            {sharing !== null && (
              <ActionButton
                onDo={() => {
                  setDoing('exporting');
                }}
              >
                {words.__('Export')}
              </ActionButton>
            )}
            <ActionButton
              onDo={() => {
                done(sessions.archive(row.id, !away));
              }}
            >
              {away ? words.__('Unarchive') : words.__('Archive')}
            </ActionButton>
            <ActionButton
              onDo={() => {
                setDoing('deleting');
              }}
            >
              {words.__('Delete')}
            </ActionButton>
          </>
        )}
        {doing === 'branches' && <BranchView session={row.id} onBack={back} />}
        {doing === 'naming' && (
          <RenameForm
            title={title}
            onName={name => {
              done(sessions.rename(row.id, name));
            }}
            onBack={back}
          />
        )}
        {doing === 'sharing' && sharing !== null && (
          <SharePage
            session={row.id}
            shared={row.shared}
            onBack={back}
            onChanged={onChanged}
          />
        )}
        {doing === 'exporting' && sharing !== null && (
          <ExportDialog session={row.id} onBack={back} />
        )}
        {doing === 'deleting' && (
          <DeleteConfirmation
            title={title}
            onDelete={() => {
              done(sessions.delete(row.id));
            }}
            onBack={back}
          />
        )}
      </div>
    </li>
  );
}

function ActionButton({
  onDo,
  children
}: {
  onDo: () => void;
  children: string;
}) {
  return (
    <button
      type="button"
      className="plm-Button plm-ActionButton"
      onClick={onDo}
    >
      {children}
    </button>
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
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    field.current?.select();
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
        ref={field}
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
  const keep = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    keep.current?.focus();
  }, []);
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
      <button type="button" ref={keep} className="plm-Button" onClick={onBack}>
        {words.__('Keep it')}
      </button>
      <button
        type="button"
        className="plm-Button plm-ActionButton-final"
        onClick={onDelete}
      >
        {words.__('Delete for good')}
      </button>
    </div>
  );
}
