/** The colours, fonts and hatch that the grid is painted with. */
import { PLACEHOLDER } from '../../../state/inspector/figures/kindSeries';

/**
 * The colours of the theme, read once: asking for a style lays the page out.
 *
 * Responsibilities: colours by name, fonts, and the hatch of cleared items.
 */
export class GridPalette {
  readonly mono: string;
  readonly font: string;
  readonly hatch: CanvasPattern | string;
  private readonly _colours = new Map<string, string>();
  private readonly _style: CSSStyleDeclaration;

  constructor(canvas: HTMLCanvasElement) {
    this._style = getComputedStyle(canvas);
    this.mono = this._style.getPropertyValue('--plm-mono') || 'monospace';
    this.font = this._style.fontFamily || 'sans-serif';
    this.hatch = hatchPattern(this.colourOf(PLACEHOLDER));
  }

  /** Returns the colour of a kind, or of a name such as `text`. */
  colourOf(name: string): string {
    let cached = this._colours.get(name);
    if (cached === undefined) {
      cached =
        this._style.getPropertyValue(`--plm-kind-${name}`).trim() ||
        this._style.getPropertyValue(`--plm-${name}`).trim() ||
        '#888';
      this._colours.set(name, cached);
    }
    return cached;
  }
}

/** Returns diagonal lines of a colour. */
function hatchPattern(colour: string): CanvasPattern | string {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 5;
  const context = tile.getContext('2d');
  if (context === null) {
    return colour;
  }
  context.strokeStyle = colour;
  context.lineWidth = 1.1;
  context.beginPath();
  for (const start of [-5, 0, 5]) {
    context.moveTo(start, 5);
    context.lineTo(start + 5, 0);
  }
  context.stroke();
  return context.createPattern(tile, 'repeat') ?? colour;
}
