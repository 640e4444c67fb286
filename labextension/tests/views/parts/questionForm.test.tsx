// @vitest-environment jsdom
/** The model's questions are answered once, by buttons, digits and text; its todo list is drawn. */
import { fireEvent, render, screen, within } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import type {
  Question,
  QuestionAsked,
  Todo,
  ToolPart
} from '../../../src/protocol/generated';
import {
  answersOf,
  currentTodo,
  questionsOf,
  todoProgress,
  todosOf
} from '../../../src/state/lines/questionsAndTodos';
import { EMPTY_TRANSCRIPT } from '../../../src/state/store/transcript';
import {
  AnswerActionsProvider,
  type IAnswerActions
} from '../../../src/views/actions/answers';
import {
  TodoChip,
  TodoStrip,
  usePutAway
} from '../../../src/views/chat/todoStrip';
import { HostProvider } from '../../../src/views/host';
import { QuestionForm } from '../../../src/views/parts/questionForm';
import { ToolCall } from '../../../src/views/parts/toolCall';
import { ran, tool } from '../../builders';
import { HOST } from '../../plainHost';

const ONE: Question = {
  question: 'Which colour?',
  header: 'Colour',
  options: [
    { label: 'red', description: 'warm' },
    { label: 'blue', description: '' }
  ],
  multiple: false
};
const MANY: Question = { ...ONE, question: 'Which ones?', multiple: true };
const FREE: Question = { ...ONE, question: 'How many?', options: [] };

function draw(...questions: Question[]) {
  const answer = vi.fn<IAnswerActions['answer']>();
  const asked: QuestionAsked = {
    type: 'question.asked',
    question_id: 'que_1',
    questions
  };
  render(
    <HostProvider value={HOST}>
      <AnswerActionsProvider value={{ reply: vi.fn(), answer }}>
        <QuestionForm openQuestions={asked} />
      </AnswerActionsProvider>
    </HostProvider>
  );
  return answer;
}

const button = (name: RegExp) => screen.getByRole('button', { name });

describe('a question', () => {
  it('is answered at once by an option, and only once', () => {
    const answer = draw(ONE);
    fireEvent.click(button(/red/));
    fireEvent.click(button(/blue/));

    expect(answer.mock.calls).toEqual([['que_1', [['red']]]]);
    expect(button(/red/).getAttribute('aria-pressed')).toBe('true');
  });

  it('is answered by a digit, but not while somebody writes', () => {
    const answer = draw(ONE);
    const field = screen.getByRole('textbox', {
      name: 'Your own answer to: Which colour?'
    });
    fireEvent.keyDown(field, { key: '2' });
    fireEvent.keyDown(button(/red/), { key: '2', ctrlKey: true });
    fireEvent.keyDown(button(/red/), { key: '7' });
    expect(answer).not.toHaveBeenCalled();

    fireEvent.keyDown(button(/red/), { key: '2' });
    expect(answer.mock.calls).toEqual([['que_1', [['blue']]]]);
  });

  it('is answered in own words', () => {
    const answer = draw(ONE);
    const field = screen.getByRole('textbox');
    fireEvent.change(field, { target: { value: ' green ' } });
    fireEvent.submit(field);

    expect(answer.mock.calls).toEqual([['que_1', [['green']]]]);
  });

  it('can be skipped', () => {
    const answer = draw(ONE);
    fireEvent.click(button(/Skip/));

    expect(answer.mock.calls).toEqual([['que_1', null]]);
  });

  it('takes several options, and words besides', () => {
    const answer = draw(MANY);
    fireEvent.click(button(/blue/));
    fireEvent.click(button(/red/));
    fireEvent.change(screen.getByRole('textbox'), {
      target: { value: 'grey' }
    });
    fireEvent.click(button(/Answer/));

    expect(answer.mock.calls).toEqual([['que_1', [['red', 'blue', 'grey']]]]);
  });

  it('waits until something is answered, and leaves the rest open', () => {
    const answer = draw(ONE, MANY, FREE);
    expect(button(/Answer/)).toHaveProperty('disabled', true);
    const group = screen.getByRole('group', { name: 'Which colour?' });
    fireEvent.click(within(group).getByRole('button', { name: /red/ }));
    fireEvent.click(within(group).getByRole('button', { name: /red/ }));
    expect(button(/Answer/)).toHaveProperty('disabled', true);
    const free = screen.getByRole('group', { name: 'How many?' });
    fireEvent.change(within(free).getByRole('textbox'), {
      target: { value: '12' }
    });
    fireEvent.click(button(/Answer/));

    expect(answer.mock.calls).toEqual([['que_1', [[], [], ['12']]]]);
  });

  it('says where to answer when nobody listens', () => {
    render(
      <HostProvider value={HOST}>
        <QuestionForm
          openQuestions={{
            type: 'question.asked',
            question_id: 'q',
            questions: [ONE]
          }}
        />
      </HostProvider>
    );

    expect(button(/red/)).toHaveProperty('disabled', true);
    screen.getByText(/Answer where the cell runs/);
    expect(screen.queryByRole('textbox')).toBeNull();
  });
});

function drawTool(part: ToolPart) {
  render(
    <HostProvider value={HOST}>
      <ToolCall part={part} isOver={false} isNewest={true} />
    </HostProvider>
  );
}

describe('a call', () => {
  it('shows what was asked and answered', () => {
    const part = ran('question', { questions: [ONE, FREE] }, '');
    const state = { ...part.state, metadata: { answers: [['red'], []] } };
    drawTool({ ...part, state });

    expect(
      screen.getAllByRole('definition').map(element => element.textContent)
    ).toEqual(['red', 'No answer']);
  });

  it('shows its list with the state of each item in words', () => {
    drawTool(ran('todowrite', { todos: TODOS }, '[x] Load'));

    const items = screen
      .getAllByRole('listitem')
      .map(element => element.textContent);
    expect(items).toEqual([
      'done: Load',
      'in work: Plotimportant',
      'dropped: Ask'
    ]);
  });

  it('shows its input where that is no list', () => {
    drawTool(ran('todowrite', { todos: 'Load' }, ''));
    fireEvent.click(button(/todowrite/));

    screen.getByText(/"todos": "Load"/);
  });
});

const TODOS: Todo[] = [
  { content: 'Load', status: 'completed', priority: 'high' },
  { content: 'Plot', status: 'in_progress', priority: 'high' },
  { content: 'Ask', status: 'cancelled', priority: 'low' }
];

function Strip({ todos, busy }: { todos: readonly Todo[]; busy: boolean }) {
  const status = busy ? ({ type: 'busy' } as const) : EMPTY_TRANSCRIPT.status;
  const transcript = { ...EMPTY_TRANSCRIPT, todos, status };
  const putAway = usePutAway(transcript);
  return (
    <HostProvider value={HOST}>
      <TodoChip transcript={transcript} putAway={putAway} />
      <TodoStrip transcript={transcript} putAway={putAway} />
    </HostProvider>
  );
}

function strip(todos: readonly Todo[], busy: boolean): string {
  return render(<Strip todos={todos} busy={busy} />).container.textContent;
}

describe('the list over the composer', () => {
  it('says how far it is and what is next', () => {
    expect(strip(TODOS, true)).toContain('1 of 2 donePlot');
  });

  it('is gone when all is done and nothing runs', () => {
    const done = TODOS.slice(0, 1);

    expect(strip(done, true)).toContain('1 of 1 done');
    expect(strip(done, false)).toBe('');
    expect(strip([], true)).toBe('');
  });

  it('is put away until its items are others, also in a page that was loaded again', () => {
    const away = () => screen.queryByRole('button', { name: /away/ });
    const chip = () => screen.queryByRole('button', { name: /^Show the todo/ });
    const drawn = render(<Strip todos={TODOS} busy />);
    fireEvent.click(away() as HTMLElement);
    drawn.unmount();

    const later = TODOS.map(value => ({
      ...value,
      status: 'pending' as const
    }));
    const again = render(<Strip todos={later} busy={false} />);
    expect(away()).toBeNull();
    expect(chip()?.textContent).toBe('0 of 3 done');

    again.rerender(<Strip todos={later.slice(1)} busy={false} />);
    expect(away()).not.toBeNull();
    again.rerender(<Strip todos={later} busy={false} />);
    fireEvent.click(chip() as HTMLElement);
    expect(away()).not.toBeNull();
    expect(chip()).toBeNull();
  });

  it('is put away also where the browser keeps nothing for the page', () => {
    const closed = () => {
      throw new DOMException('denied', 'SecurityError');
    };
    vi.stubGlobal('sessionStorage', {
      getItem: closed,
      setItem: closed,
      removeItem: closed
    });
    render(<Strip todos={TODOS} busy />);

    fireEvent.click(screen.getByRole('button', { name: /away/ }));

    expect(screen.queryByRole('button', { name: /away/ })).toBeNull();
    fireEvent.click(screen.getByRole('button', { name: /^Show the todo/ }));
    expect(screen.queryByRole('button', { name: /away/ })).not.toBeNull();
    vi.unstubAllGlobals();
  });
});

describe('a call that is still being written', () => {
  it('is read as far as it makes sense', () => {
    const half = tool('question', {
      status: 'running',
      input: {
        questions: [{ question: 'Why?', options: [{}, { label: 'a' }, 3] }, 4]
      },
      metadata: {},
      time: { start: 0 }
    });
    expect(questionsOf(half)).toEqual([
      {
        question: 'Why?',
        header: '',
        options: [{ label: 'a', description: '' }],
        multiple: false
      }
    ]);
    expect(answersOf(half)).toBeNull();
    const list = { todos: [{ content: 'a', status: 'odd' }, { content: ' ' }] };
    expect(todosOf(ran('todowrite', list, ''))).toEqual([
      { content: 'a', status: 'pending', priority: 'medium' }
    ]);
  });

  it('counts without what was dropped', () => {
    expect(todoProgress(TODOS)).toEqual({ doneCount: 1, activeCount: 2 });
    expect(currentTodo(TODOS)?.content).toBe('Plot');
    expect(currentTodo([])).toBeUndefined();
  });
});
