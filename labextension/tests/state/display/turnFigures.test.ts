/** The figures of a turn are the same sums and words as the kernel's. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { StepFinishPart } from '../../../src/protocol/generated';
import {
  figureWords,
  turnFigures
} from '../../../src/state/display/turnFigures';
import { assistant } from '../../builders';
import { HOST } from '../../plainHost';

interface ICase {
  name: string;
  messages: { summary: boolean; step: Partial<StepFinishPart> }[];
  told: {
    steps: number;
    words: string[];
    used?: number;
    window?: number;
  } | null;
}

const CASES = JSON.parse(
  readFileSync('../tests/fixtures/turn_figures.json', 'utf8')
) as ICase[];

it.each(CASES.map(entry => [entry.name, entry] as const))(
  '%s',
  (_name, { messages, told }) => {
    const figures = turnFigures(
      messages.map(({ summary, step }) => {
        const plain = assistant([step as StepFinishPart]);
        return {
          ...plain,
          info: { ...plain.info, summary } as typeof plain.info
        };
      })
    );

    expect(
      figures && {
        steps: figures.stepCount,
        words: figureWords(figures, HOST.words).map(({ text, more }) =>
          more === undefined ? text : `${text} ${more}`
        ),
        used: figures.contextTokens,
        window: figures.windowTokens
      }
    ).toEqual(told && { used: undefined, window: undefined, ...told });
  }
);
