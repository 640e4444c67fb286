/** The model's questions to the user: options to choose, a field for free text, and the answers. */
import { useId, useState, type KeyboardEvent } from 'react';
import type { Question, QuestionAsked } from '../../protocol/generated';
import { useAnswerActions } from '../actions/answers';
import { OutlinedButton } from '../controls/buttons';
import { useHost } from '../host';
import { digitOf } from './answerKeys';

/** The options and the text given for one question. */
interface IGivenAnswer {
  labels: readonly string[];
  ownText: string;
}

const NO_ANSWER: IGivenAnswer = { labels: [], ownText: '' };

/** Draws open questions; in a read-only view it says where to answer. */
export function QuestionForm({
  openQuestions
}: {
  openQuestions: QuestionAsked;
}) {
  const { words } = useHost();
  const actions = useAnswerActions();
  const { question_id: id, questions } = openQuestions;
  const [answers, setAnswers] = useState<readonly IGivenAnswer[]>([]);
  const [isSent, setSent] = useState(false);
  const onlyQuestion = questions.length === 1 ? questions[0] : undefined;
  const sendsOnChoice = onlyQuestion !== undefined && !onlyQuestion.multiple;

  const send = (allAnswers: readonly IGivenAnswer[]) => {
    setSent(true);
    actions?.answer(
      id,
      questions.map((question, index) =>
        answerTexts(question, allAnswers[index])
      )
    );
  };
  const changeAnswer = (index: number, newAnswer: IGivenAnswer) => {
    const allAnswers = questions.map((_, position) =>
      position === index ? newAnswer : (answers[position] ?? NO_ANSWER)
    );
    setAnswers(allAnswers);
    return allAnswers;
  };
  const isEmpty = !questions.some(
    (question, index) => answerTexts(question, answers[index]).length > 0
  );
  return (
    <form
      className="plm-Question plm-QuestionForm"
      aria-label={words.__('The agent asks you')}
      data-ask={id}
      onSubmit={event => {
        event.preventDefault();
        if (!isEmpty && !isSent) {
          send(answers);
        }
      }}
    >
      {questions.map((question, index) => (
        <QuestionField
          key={index}
          question={question}
          answer={answers[index] ?? NO_ANSWER}
          isDisabled={isSent || actions === null}
          isReadOnly={actions === null}
          hasKeys={onlyQuestion !== undefined}
          onChoose={label => {
            const allAnswers = changeAnswer(
              index,
              withChoice(question, answers[index] ?? NO_ANSWER, label)
            );
            if (sendsOnChoice) {
              send(allAnswers);
            }
          }}
          onWrite={ownText => {
            const labels = question.multiple
              ? (answers[index]?.labels ?? [])
              : [];
            changeAnswer(index, { labels, ownText });
          }}
        />
      ))}
      {actions === null ? (
        <p className="plm-Muted">
          {words.__('Answer where the cell runs: a number, or your own words.')}
        </p>
      ) : (
        <span className="plm-QuestionForm-buttons">
          <button
            type="submit"
            className="plm-Button"
            data-main={isEmpty ? undefined : true}
            disabled={isSent || isEmpty}
          >
            {words.__('Answer')}
          </button>
          <OutlinedButton
            disabled={isSent}
            title={words.__('The agent goes on with its best judgement')}
            onClick={() => {
              setSent(true);
              actions.answer(id, null);
            }}
          >
            {words.__('Skip')}
          </OutlinedButton>
        </span>
      )}
    </form>
  );
}

interface IQuestionFieldProps {
  question: Question;
  answer: IGivenAnswer;
  isDisabled: boolean;
  /** Whether the view is read-only. */
  isReadOnly: boolean;
  /** Whether it is the only question, so that number keys anywhere near it choose. */
  hasKeys: boolean;
  onChoose: (label: string) => void;
  onWrite: (ownText: string) => void;
}

function QuestionField({
  question: { header, multiple, options, question },
  answer,
  isDisabled,
  isReadOnly,
  hasKeys,
  onChoose,
  onWrite
}: IQuestionFieldProps) {
  const { words } = useHost();
  const titleId = useId();
  const onKeyDown = (event: KeyboardEvent) => {
    const option = options[(digitOf(event) ?? 0) - 1];
    const isInField = (event.target as HTMLElement).matches('input');
    if (option !== undefined && !isDisabled && !isInField) {
      event.preventDefault();
      event.stopPropagation();
      onChoose(option.label);
    }
  };
  return (
    <div
      className="plm-QuestionForm-one"
      role="group"
      aria-labelledby={titleId}
      onKeyDown={onKeyDown}
    >
      {header !== '' && <span className="plm-QuestionForm-head">{header}</span>}
      <p className="plm-Question-title" id={titleId}>
        {question}
      </p>
      {options.length > 0 && (
        <div className="plm-Options">
          {options.map(({ description, label }, index) => (
            <button
              key={label}
              type="button"
              className="plm-Option"
              aria-pressed={answer.labels.includes(label)}
              aria-keyshortcuts={String(index + 1)}
              data-key={hasKeys ? index + 1 : undefined}
              data-many={multiple}
              disabled={isDisabled}
              onClick={() => {
                onChoose(label);
              }}
            >
              <kbd aria-hidden="true">{index + 1}</kbd>
              <span className="plm-Option-words">
                <span className="plm-Option-label">{label}</span>{' '}
                {description !== '' && (
                  <span className="plm-Option-more">{description}</span>
                )}
              </span>
            </button>
          ))}
        </div>
      )}
      {!isReadOnly && (
        <input
          className="plm-Field"
          aria-label={words.__('Your own answer to: %1', question)}
          placeholder={
            options.length > 0
              ? words.__('Or in your own words')
              : words.__('Your answer')
          }
          disabled={isDisabled}
          value={answer.ownText}
          onChange={event => {
            onWrite(event.target.value);
          }}
          onKeyDown={event => {
            event.stopPropagation();
          }}
        />
      )}
    </div>
  );
}

/** Draws answered questions with their answers. */
export function QuestionAnswers(props: {
  questions: readonly Question[];
  /** Null if they were not answered. */
  answers: readonly (readonly string[])[] | null;
}) {
  const { questions, answers } = props;
  const { words } = useHost();
  return (
    <dl className="plm-QuestionAnswers">
      {questions.map(({ question }, index) => {
        const texts = answers?.[index] ?? [];
        return (
          <div key={index}>
            <dt>{question}</dt>
            {texts.length === 0 ? (
              <dd className="plm-Muted">{words.__('No answer')}</dd>
            ) : (
              texts.map((text, position) => <dd key={position}>{text}</dd>)
            )}
          </div>
        );
      })}
    </dl>
  );
}

function withChoice(
  question: Question,
  answer: IGivenAnswer,
  label: string
): IGivenAnswer {
  const wasChosen = answer.labels.includes(label);
  if (question.multiple) {
    const labels = wasChosen
      ? answer.labels.filter(other => other !== label)
      : [...answer.labels, label];
    return { ...answer, labels };
  }
  return { labels: wasChosen ? [] : [label], ownText: '' };
}

/** Returns the labels in the order of the question, followed by free text. */
function answerTexts(
  question: Question,
  answer: IGivenAnswer | undefined
): string[] {
  const { labels, ownText } = answer ?? NO_ANSWER;
  const chosenLabels = question.options
    .map(({ label }) => label)
    .filter(label => labels.includes(label));
  return ownText.trim() === ''
    ? chosenLabels
    : [...chosenLabels, ownText.trim()];
}
