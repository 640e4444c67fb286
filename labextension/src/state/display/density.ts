/** The density of a turn: its work folded into one row, or each step in a row of its own. */
import { ReadableValue } from '../store/readableValue';

export type Density = 'quiet' | 'all steps';

/** The choices of the page's reader. */
interface IDensityChoice {
  /** For all turns; null where the settings of each turn's kernel or notebook decide. */
  page: Density | null;
  /** Choices for single turns, by id. */
  turns: ReadonlyMap<string, Density>;
}

/** Holds the choice for all views of a page. */
class DensityStore extends ReadableValue<IDensityChoice> {
  /** Sets how all turns are drawn; choices for single turns end. */
  setPage(page: Density | null): void {
    this.set({ page, turns: new Map() });
  }

  /** Sets how one turn is drawn. */
  setTurn(turnKey: string, density: Density): void {
    const { page, turns } = this.getSnapshot();
    this.set({ page, turns: new Map([...turns, [turnKey, density]]) });
  }
}

/** The page's choice. */
export const densityChoice = new DensityStore({
  page: null,
  turns: new Map()
});

/** Returns how a turn is drawn: as its reader chose for it, or for the page, else as its kernel or notebook says. */
export function densityOf(
  { page, turns }: IDensityChoice,
  turnKey: string,
  savedDensity: Density = 'quiet'
): Density {
  return turns.get(turnKey) ?? page ?? savedDensity;
}

/** Reads the page's setting; null where the kernel's settings decide. */
export function readDensity(value: unknown): Density | null {
  return value === 'quiet' || value === 'all steps' ? value : null;
}
