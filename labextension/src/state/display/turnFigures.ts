/** The figures of a turn: the sums over its steps, and the context window after the last one. */
import type { Message, StepFinishPart } from '../../protocol/generated';
import { dollarsText, durationText, shortCount } from '../text/numberFormat';
import type { ITranslations } from '../text/translations';

/** Sums over steps; undefined where one of the steps lacks the number. */
interface ITurnFigures {
  stepCount: number;
  /** Tokens sent, with those that were read from the cache. */
  sentTokens: number;
  cachedTokens: number;
  /** Whether a count is an estimate. */
  isTokenEstimate: boolean;
  /** US dollars. */
  costDollars: number | undefined;
  /** Whether the cost is an estimate. */
  isCostEstimate: boolean;
  /** How long the steps took, without the time for a person's answers. */
  seconds: number | undefined;
  /** How long they waited for a person. */
  waitedSeconds: number;
  /** Tokens in the context of the last request, and its window. */
  contextTokens: number | undefined;
  windowTokens: number | undefined;
}

/** Returns the figures of a turn; null before its first step has ended. */
export function turnFigures(messages: readonly Message[]): ITurnFigures | null {
  const steps = messages.flatMap(({ parts }) =>
    parts.filter(part => part.type === 'step-finish')
  );
  const last = steps.at(-1);
  // A summary has a request of its own, whose size is not that of the conversation.
  const newestStep = messages
    .filter(({ info }) => info.role !== 'assistant' || !info.summary)
    .flatMap(({ parts }) => parts)
    .findLast(part => part.type === 'step-finish');
  return last === undefined
    ? null
    : {
        stepCount: steps.length,
        sentTokens: sum(steps.map(sentTokens)),
        cachedTokens: sum(steps.map(({ tokens }) => tokens.cache_read)),
        isTokenEstimate: steps.some(({ tokens }) => tokens.estimated),
        costDollars: sumIfKnown(steps.map(({ cost }) => cost)),
        isCostEstimate: steps.some(({ cost_listed }) => cost_listed === true),
        seconds: sumIfKnown(steps.map(step => step.seconds)),
        waitedSeconds: sum(
          steps.map(({ waited_seconds }) => waited_seconds ?? 0)
        ),
        contextTokens: newestStep?.context_tokens,
        windowTokens: newestStep?.window
      };
}

/** Returns the tokens of a request, whether they were read from the cache or not. */
export function sentTokens({ tokens }: StepFinishPart): number {
  return tokens.input + tokens.cache_read + tokens.cache_write;
}

/** Returns a cost in words; "~" marks an estimate. */
export function costWords(
  cost: number | undefined,
  listed: boolean,
  words: ITranslations
): string {
  return cost === undefined
    ? words.__('cost unknown')
    : `${listed ? '~' : ''}${dollarsText(cost)}`;
}

/** A figure as text; `more` is left out where there is little room. */
interface IFigureWords {
  text: string;
  more?: string;
}

/** Returns the figures after the number of steps, such as "7.5k in (7.4k cached)", "$0.003", "1.1 s". */
export function figureWords(
  figures: ITurnFigures,
  words: ITranslations
): IFigureWords[] {
  const {
    cachedTokens,
    costDollars,
    isTokenEstimate,
    isCostEstimate,
    sentTokens,
    waitedSeconds
  } = figures;
  const about = isTokenEstimate ? '≈ ' : '';
  return [
    {
      text: words.__('%1 in', about + shortCount(sentTokens)),
      more:
        cachedTokens > 0
          ? words.__('(%1 cached)', shortCount(cachedTokens))
          : undefined
    },
    { text: costWords(costDollars, isCostEstimate, words) },
    ...(figures.seconds === undefined
      ? []
      : [{ text: durationText(figures.seconds) }]),
    ...(waitedSeconds > 0
      ? [{ text: words.__('you took %1', durationText(waitedSeconds)) }]
      : [])
  ];
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Adds values up; undefined where one of them is not known. */
function sumIfKnown(
  values: readonly (number | undefined)[]
): number | undefined {
  const numbers = values.filter(value => value !== undefined);
  return numbers.length === values.length ? sum(numbers) : undefined;
}
