/** The todo list above the composer: one line that can be opened or put away, while items are open. */
import { useState, type CSSProperties } from 'react';
import { currentTodo, todoProgress } from '../../state/lines/questionsAndTodos';
import { isBusy } from '../../state/session/status';
import type { ITranscript } from '../../state/store/transcript';
import { Disclosure } from '../controls/disclosure';
import { useHost } from '../host';
import { TodoItems } from '../controls/todoList';

interface IPutAway {
  isAway: boolean;
  putAway: (isAway: boolean) => void;
}

interface ITodoProps {
  transcript: ITranscript;
  putAway: IPutAway;
}

/** Draws the line; nothing if there is no list, or all of it is done and the turn is over. */
export function TodoStrip(props: ITodoProps) {
  const {
    transcript,
    putAway: { isAway, putAway }
  } = props;
  const { Icon, words } = useHost();
  const { todos } = transcript;
  const next = currentTodo(todos);
  if (isAway || !isWorkedOn(transcript)) {
    return null;
  }
  const head = (
    <>
      <Progress transcript={transcript} />
      {next !== undefined && (
        <span className="plm-Strip-next">{next.content}</span>
      )}
    </>
  );
  return (
    <div className="plm-TodoStrip-frame">
      <Disclosure className="plm-Strip plm-TodoStrip" head={head}>
        <TodoItems todos={todos} />
      </Disclosure>
      <button
        type="button"
        className="plm-TodoStrip-away"
        aria-label={words.__('Put the todo list away')}
        title={words.__(
          'Put the todo list away, until there is another; the sign beside the title brings it back'
        )}
        onClick={() => {
          putAway(true);
        }}
      >
        <Icon name="failed" />
      </button>
    </div>
  );
}

/** Draws a button that brings back a list that was put away. */
export function TodoChip(props: ITodoProps) {
  const {
    transcript,
    putAway: { isAway, putAway }
  } = props;
  const { words } = useHost();
  const { activeCount: all, doneCount: done } = todoProgress(transcript.todos);
  return isAway && isWorkedOn(transcript) ? (
    <button
      type="button"
      className="plm-TodoChip"
      aria-label={words.__('Show the todo list: %1 of %2 done', done, all)}
      title={words.__('Show the todo list')}
      onClick={() => {
        putAway(false);
      }}
    >
      <Progress transcript={transcript} />
    </button>
  ) : null;
}

function Progress({ transcript }: { transcript: ITranscript }) {
  const { words } = useHost();
  const { activeCount: all, doneCount: done } = todoProgress(transcript.todos);
  return (
    <>
      <span
        className="plm-TodoStrip-ring"
        aria-hidden="true"
        style={{ '--plm-done': `${(100 * done) / all}%` } as CSSProperties}
      />
      <span className="plm-Strip-count">
        {words.__('%1 of %2 done', done, all)}
      </span>
    </>
  );
}

function isWorkedOn(transcript: ITranscript): boolean {
  const { todos } = transcript;
  return (
    todoProgress(todos).activeCount > 0 &&
    (currentTodo(todos) !== undefined || isBusy(transcript))
  );
}

/** The prefix of a session's list that was put away, in the storage of the page's tab. */
const AWAY_PREFIX = 'jupyter-palimpsest:todos-put-away:';

/**
 * Returns whether the session's list is put away, and a function to change it.
 *
 * Progress changes no list: it comes back when its items are others.
 */
export function usePutAway({ session, todos }: ITranscript): IPutAway {
  const key = AWAY_PREFIX + (session?.id ?? '');
  const list = JSON.stringify(todos.map(({ content }) => content));
  const [lastPutAway, setLastPutAway] = useState<{
    key: string;
    list: string | null;
  }>({ key: '', list: null });
  const putAwayList =
    lastPutAway.key === key ? lastPutAway.list : storedList(key);
  if (lastPutAway.key !== key) {
    setLastPutAway({ key, list: putAwayList });
  }
  return {
    isAway: putAwayList === list,
    putAway: isAway => {
      setLastPutAway({ key, list: isAway ? list : null });
      try {
        if (isAway) {
          sessionStorage.setItem(key, list);
        } else {
          sessionStorage.removeItem(key);
        }
      } catch {
        // The browser keeps nothing for this page: a reload brings the list back.
      }
    }
  };
}

function storedList(key: string): string | null {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null; // the browser keeps nothing for this page
  }
}
