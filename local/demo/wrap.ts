// Text to a width, at spaces; a word that is longer keeps its length, so that paths and places can be copied.
export function wrap(text: string, columns: number): string[] {
  return text.split("\n").flatMap((paragraph) => {
    const lines: string[] = [];
    let line = "";
    for (const word of paragraph.split(/ +/)) {
      if (line !== "" && length(line) + 1 + length(word) > columns) {
        lines.push(line);
        line = word;
      } else line = line === "" ? word : `${line} ${word}`;
    }
    return [...lines, line];
  });
}

const length = (text: string): number => [...text].length;
