/**
 * The todo list above the composer: one line that can be opened, while items are open.
 */
import type { CSSProperties } from 'react';
import {
  currentTodo,
  todoProgress
} from '../../state/display/questionsAndTodos';
import { isBusy } from '../../state/session/status';
import type { ITranscript } from '../../state/store/transcript';
import { Disclosure } from '../controls/disclosure';
import { useHost } from '../host';
import { TodoItems } from '../controls/todoList';

/** Draws the line; nothing if there is no list, or all of it is done and the turn is over. */
export function TodoStrip({ transcript }: { transcript: ITranscript }) {
  const { words } = useHost();
  const { todos } = transcript;
  const { all, done } = todoProgress(todos);
  const next = currentTodo(todos);
  if (all === 0 || (next === undefined && !isBusy(transcript))) {
    return null;
  }
  const head = (
    <>
      <span
        className="plm-TodoStrip-ring"
        aria-hidden="true"
        style={{ '--plm-done': `${(100 * done) / all}%` } as CSSProperties}
      />
      <span className="plm-TodoStrip-count">
        {words.__('%1 of %2 done', done, all)}
      </span>
      {next !== undefined && (
        <span className="plm-TodoStrip-next">{next.content}</span>
      )}
    </>
  );
  return (
    <Disclosure className="plm-TodoStrip" head={head}>
      <TodoItems todos={todos} />
    </Disclosure>
  );
}
