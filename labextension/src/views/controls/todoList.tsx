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
  switch (status) {
    case 'pending':
      return words.__('to do');
    case 'in_progress':
      return words.__('in work');
    case 'completed':
      return words.__('done');
    case 'cancelled':
      return words.__('dropped');
  }
}
