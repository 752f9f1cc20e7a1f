/*
 * Remove a folder that the program has created.
 */
#ifndef COMMON_FOLDER_H
#define COMMON_FOLDER_H

/* Remove the folder with its contents, as far as possible; symbolic links are not followed. */
void folder_remove(const char *path);

#endif
