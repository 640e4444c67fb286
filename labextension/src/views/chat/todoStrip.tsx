/** The todo list above the composer: one line that can be opened or put away, while items are open. */
import { useState, type CSSProperties } from 'react';
import { currentTodo, todoProgress } from '../../state/lines/questionsAndTodos';
import { isBusy } from '../../state/session/status';
import type { ITranscript } from '../../state/store/transcript';
import { Disclosure } from '../controls/disclosure';
import { useHost } from '../host';
import { TodoItems } from '../controls/todoList';

interface ITodoListState {
  isAway: boolean;
  setAway: (isAway: boolean) => void;
}

interface ITodoProps {
  transcript: ITranscript;
  listState: ITodoListState;
}

/** Draws the todo list as a line that opens; nothing if there is no list, or all of it is done and the turn is over. */
export function TodoStrip(props: ITodoProps) {
  const {
    transcript,
    listState: { isAway, setAway }
  } = props;
  const { Icon, words } = useHost();
  const { todos } = transcript;
  const currentItem = currentTodo(todos);
  if (isAway || !hasTodosInWork(transcript)) {
    return null;
  }
  const head = (
    <>
      <TodoProgress transcript={transcript} />
      {currentItem !== undefined && (
        <span className="plm-Strip-next">{currentItem.content}</span>
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
          setAway(true);
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
    listState: { isAway, setAway }
  } = props;
  const { words } = useHost();
  const { activeCount: all, doneCount: done } = todoProgress(transcript.todos);
  return isAway && hasTodosInWork(transcript) ? (
    <button
      type="button"
      className="plm-TodoChip"
      aria-label={words.__('Show the todo list: %1 of %2 done', done, all)}
      title={words.__('Show the todo list')}
      onClick={() => {
        setAway(false);
      }}
    >
      <TodoProgress transcript={transcript} />
    </button>
  ) : null;
}

function TodoProgress({ transcript }: { transcript: ITranscript }) {
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

function hasTodosInWork(transcript: ITranscript): boolean {
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
export function useTodoListState({
  session,
  todos
}: ITranscript): ITodoListState {
  const key = AWAY_PREFIX + (session?.id ?? '');
  const listJson = JSON.stringify(todos.map(({ content }) => content));
  const [lastAway, setLastAway] = useState<{
    key: string;
    list: string | null;
  }>({ key: '', list: null });
  const awayListJson =
    lastAway.key === key ? lastAway.list : storedListJson(key);
  if (lastAway.key !== key) {
    setLastAway({ key, list: awayListJson });
  }
  return {
    isAway: awayListJson === listJson,
    setAway: isAway => {
      setLastAway({ key, list: isAway ? listJson : null });
      try {
        if (isAway) {
          sessionStorage.setItem(key, listJson);
        } else {
          sessionStorage.removeItem(key);
        }
      } catch {
        // The browser keeps nothing for this page: a reload brings the list back.
      }
    }
  };
}

function storedListJson(key: string): string | null {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null; // the browser keeps nothing for this page
  }
}
