/**
 * The sessions of the project, to go on with one of them or to begin a new one.
 */
import { useEffect, useRef, useState } from 'react';
import type { SessionRow } from '../../protocol/generated';
import { useHost, type IWords } from '../host';
import { useChat } from './model';

export interface ISessionsProps {
  /** Id of the session that is shown. */
  current: string;
  onClose: () => void;
}

/** Draws the list; it is asked for anew each time it opens. */
export function Sessions({ current, onClose }: ISessionsProps) {
  const { words } = useHost();
  const chat = useChat();
  const [rows, setRows] = useState<readonly SessionRow[] | null>(null);
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    first.current?.focus();
    let wanted = true;
    void chat.sessions().then(
      found => {
        if (wanted) {
          setRows(found);
        }
      },
      () => {
        if (wanted) {
          setRows([]);
        }
      }
    );
    return () => {
      wanted = false;
    };
  }, [chat]);
  return (
    <section
      className="plm-Sessions"
      aria-label={words.__('Sessions')}
      onKeyDown={event => {
        if (event.key === 'Escape') {
          event.stopPropagation();
          onClose();
        }
      }}
    >
      <button
        type="button"
        ref={first}
        className="plm-Button"
        onClick={() => {
          chat.create();
          onClose();
        }}
      >
        {words.__('New session')}
      </button>
      {rows === null ? (
        <p className="plm-Muted">{words.__('Looking for sessions…')}</p>
      ) : (
        <ul>
          {rows.map(row => (
            <li key={row.id}>
              <button
                type="button"
                className="plm-Sessions-row"
                aria-current={row.id === current}
                onClick={() => {
                  if (row.id !== current) {
                    chat.open(row.id);
                  }
                  onClose();
                }}
              >
                <span className="plm-Sessions-title">
                  {titled(row.title, words)}
                </span>{' '}
                <span className="plm-Muted">{about(row)}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** Returns what tells sessions with the same title apart. */
function about(row: SessionRow): string {
  const when = new Date(row.updated).toLocaleString(undefined, {
    dateStyle: 'medium',
    timeStyle: 'short'
  });
  return row.notebook === undefined ? when : `${row.notebook} · ${when}`;
}

/** Returns a session's title; one that nobody named yet is called new. */
export function titled(title: string, words: IWords): string {
  return title === '' || UNNAMED.test(title) ? words.__('New session') : title;
}

/** The title that the kernel gives before the first answer. */
const UNNAMED = /^New session - \d{4}-/;
