/** A todo list whose items have icons, distinguished by shape and name as well. */
import type { Todo } from '../../protocol/generated';
import { useHost, type IWords } from '../host';

/** Draws the list. */
export function TodoItems({ todos }: { todos: readonly Todo[] }) {
  const { Icon, words } = useHost();
  if (todos.length === 0) {
    return <p className="plm-Muted">{words.__('The list is empty.')}</p>;
  }
  return (
    <ul className="plm-TodoItems" aria-label={words.__('To do')}>
      {todos.map(({ content, priority, status }, index) => (
        <li key={index} className="plm-Todo" data-status={status}>
          <span className="plm-Todo-sign" aria-hidden="true">
            {status === 'completed' && <Icon name="done" />}
          </span>
          <span className="plm-Hidden">{statusName(status, words)}: </span>
          <span className="plm-Todo-words">{content}</span>
          {priority === 'high' && status !== 'completed' && (
            <span className="plm-Todo-high">{words.__('important')}</span>
          )}
        </li>
      ))}
    </ul>
  );
}

function statusName(status: Todo['status'], words: IWords): string {
  const names: Record<Todo['status'], string> = {
    pending: words.__('to do'),
    in_progress: words.__('in work'),
    completed: words.__('done'),
    cancelled: words.__('dropped')
  };
  return names[status];
}
