/** Views that replace input and output in a call's card, by the tool's name. */
import type { ReactNode } from 'react';
import type { ToolPart } from '../../protocol/generated';
import {
  answersOf,
  QUESTION_TOOL,
  questionsOf,
  TODO_TOOL,
  todosOf
} from '../../state/lines/questionsAndTodos';
import { TodoItems } from '../controls/todoList';
import { QuestionAnswers } from './questionForm';

/** The views by tool; a tool without one shows input and output, and so does a call whose input cannot be parsed. */
export const TOOL_VIEWS: Partial<
  Record<string, (part: ToolPart) => ReactNode>
> = {
  [QUESTION_TOOL]: part => {
    const questions = questionsOf(part);
    return questions.length > 0 ? (
      <QuestionAnswers questions={questions} answers={answersOf(part)} />
    ) : null;
  },
  [TODO_TOOL]: part => {
    const todos = todosOf(part);
    return todos.length > 0 ? <TodoItems todos={todos} /> : null;
  }
};
