/** Reads the model's questions and todo list from a tool call whose input may be incomplete. */
import type {
  Question,
  QuestionOption,
  Todo,
  ToolPart
} from '../../protocol/generated';
import { isObject, listOrEmpty, textOrEmpty } from '../../protocol/jsonValues';

/** The tool that asks questions, and the one that keeps the todo list. */
export const QUESTION_TOOL = 'question';
export const TODO_TOOL = 'todowrite';

const STATUSES: readonly Todo['status'][] = [
  'pending',
  'in_progress',
  'completed',
  'cancelled'
];
const PRIORITIES: readonly Todo['priority'][] = ['high', 'medium', 'low'];

/** Returns the questions of a call; empty if none can be read. */
export function questionsOf({ state }: ToolPart): Question[] {
  return listOrEmpty(state.input.questions).flatMap((value): Question[] => {
    if (!isObject(value) || typeof value.question !== 'string') {
      return [];
    }
    return [
      {
        question: value.question,
        header: textOrEmpty(value.header),
        options: listOrEmpty(value.options).flatMap(questionOption),
        multiple: value.multiple === true
      }
    ];
  });
}

/** Returns the user's answers to each question; null if they are unknown. */
export function answersOf({ state }: ToolPart): string[][] | null {
  if (state.status !== 'completed' || !Array.isArray(state.metadata.answers)) {
    return null;
  }
  return state.metadata.answers.map(answer =>
    listOrEmpty(answer).map(textOrEmpty)
  );
}

/** Returns the todo list in a call's input. */
export function todosOf({ state }: ToolPart): Todo[] {
  return listOrEmpty(state.input.todos).flatMap((value): Todo[] => {
    if (!isObject(value) || textOrEmpty(value.content).trim() === '') {
      return [];
    }
    return [
      {
        content: textOrEmpty(value.content),
        status: STATUSES.find(status => status === value.status) ?? 'pending',
        priority:
          PRIORITIES.find(priority => priority === value.priority) ?? 'medium'
      }
    ];
  });
}

/** Counts the completed items among those not cancelled. */
export function todoProgress(todos: readonly Todo[]): {
  doneCount: number;
  activeCount: number;
} {
  const activeTodos = todos.filter(({ status }) => status !== 'cancelled');
  const doneCount = activeTodos.filter(
    ({ status }) => status === 'completed'
  ).length;
  return { doneCount, activeCount: activeTodos.length };
}

/** Returns the item in progress, or else the next one. */
export function currentTodo(todos: readonly Todo[]): Todo | undefined {
  return (
    todos.find(({ status }) => status === 'in_progress') ??
    todos.find(({ status }) => status === 'pending')
  );
}

function questionOption(value: unknown): QuestionOption[] {
  return isObject(value) && typeof value.label === 'string'
    ? [{ label: value.label, description: textOrEmpty(value.description) }]
    : [];
}
